// One line a minute per cause. A broker that is away makes thousands of equal complaints; people
// need the first at once, and later how many there were.
//
// The first line of a cause opens a window of kWindow. Lines inside it are swallowed, counted, and
// the newest is kept. When the window is over, the next line or take_due(), whichever comes first,
// brings the count out. At most kCausesMax windows are open; further causes share one more, so that
// a mistake (a cause with an offset in it) costs lines, not memory.
// Pure, time comes in as an argument; not thread-safe (the Logger holds a lock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/clock.hpp"

namespace sluice::log {

class RateLimit {
 public:
  static constexpr Milliseconds kWindow{60'000};
  static constexpr std::size_t kCausesMax = 1024;

  enum class Verdict : std::uint8_t { Print, Swallow };
  struct Answer {
    Verdict verdict;
    std::uint64_t swallowed_before;  ///< lines of this cause swallowed since its last printed one
  };
  struct Due {
    std::string line;  ///< the newest swallowed line, as it was given to admit()
    std::uint64_t swallowed;
  };

  Answer admit(std::string_view cause, std::string_view line, Milliseconds now);
  /// What was swallowed in windows that are over. Its line is going out, so a new window opens.
  std::vector<Due> take_due(Milliseconds now);

 private:
  struct Window {
    Milliseconds opened;
    std::uint64_t swallowed = 0;
    std::string newest;
  };
  void forget_quiet(Milliseconds now);

  std::map<std::string, Window, std::less<>> windows_;  ///< by cause; "" is the shared one
};

}  // namespace sluice::log
