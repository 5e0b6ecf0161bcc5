// The story of a run, one line an event in fixed columns, and the first thing that was wrong with
// it. Lines are only made when somebody reads them: a run of CI keeps none, a replay prints all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "sim/timeline.hpp"

namespace sluice::sim {

enum class Lines : std::uint8_t { Dropped, Printed };

class Trace {
 public:
  Trace(const Timeline& timeline, Lines lines) : timeline_{&timeline}, lines_{lines} {}

  /// `text` is a function, so that a dropped line costs a comparison.
  template <typename Text>
  void line(const char* who, std::int32_t partition, std::uint64_t slice, const Text& text) {
    ++count_;
    if (lines_ == Lines::Dropped) return;
    const std::string where = partition >= 0 ? "orders-" + std::to_string(partition) : "";
    const std::string what = slice > 0 ? "#" + std::to_string(slice) : "";
    std::printf("%13.6f  %-10s  %-9s  %-7s  %s\n",
                static_cast<double>(timeline_->now_us()) / static_cast<double>(kSecond), who,
                where.c_str(), what.c_str(), std::string{text()}.c_str());
  }

  /// Only the first counts: what follows from it is noise.
  void wrong(const std::string& rule, const std::string& what) {
    if (failure_) return;
    failure_ = rule + ": " + what;
    line("CHECK", -1, 0, [&] { return *failure_; });
  }

  std::int64_t now_ms() const { return timeline_->now().count(); }
  const std::optional<std::string>& failure() const { return failure_; }
  std::uint64_t count() const { return count_; }

 private:
  const Timeline* timeline_;
  Lines lines_;
  std::optional<std::string> failure_;
  std::uint64_t count_ = 0;
};

}  // namespace sluice::sim
