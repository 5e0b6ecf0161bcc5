// Dead letters on their way: sent, acknowledged, or refused with a reason. A letter that is too
// large with the host's headers goes again with fewer (Context); above rate_max a minute nothing
// is admitted (the circuit breaker of slicer.md F6).
//
// It waits for nothing and decides over no back-off: send(), serve() and a look at the counts are
// the caller's loop. Records must stay where they are until clear() or drop(). At least once: after
// drop() a letter that was under way may have been written. One thread.
#pragma once

#include <sluice/abi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/dead_letter/dead_letter.hpp"
#include "host/dead_letter/outlet.hpp"

namespace sluice::dead_letter {

/// Bounds of what is under way at a time: the client keeps a copy of each letter.
inline constexpr std::size_t kUnderWayMax = 1000;
inline constexpr std::uint64_t kUnderWayBytesMax = 32U << 20U;

struct WriterOptions {
  std::string job;
  std::uint32_t task = 0;
  Context context = Context::None;        ///< what a letter begins with
  std::optional<std::uint32_t> rate_max;  ///< letters a minute
};

enum class LetterState { Waiting, UnderWay, Written, Refused };

struct Letter {
  const sluice_record* record = nullptr;
  std::string_view topic;  ///< the record's; must stay as long as the record
  Cause cause;
  std::uint64_t slice_id = 0;  ///< the caller's
  Context context = Context::None;
  LetterState state = LetterState::Waiting;
  std::string why;  ///< of Refused
};

class Writer {
 public:
  Writer(WriterOptions options, OpenOutlet open);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Whether so many more letters keep rate_max; counted if they do. The minute begins with its
  /// first letter.
  bool admit(std::size_t letters, std::int64_t now_us);

  void add(const sluice_record& record, std::string_view topic, Cause cause,
           std::uint64_t slice_id);
  const std::vector<Letter>& letters() const { return letters_; }
  bool empty() const { return letters_.empty(); }

  /// Sends what waits, within the bounds.
  void send();
  /// Takes answers; waits at most so long for the first.
  void serve(int timeout_ms);
  /// Letters that have no answer yet, sent or not.
  std::size_t unanswered() const { return unanswered_; }
  std::size_t refused() const { return refused_; }
  /// The refused ones wait again, for a new client if the old one has nothing under way.
  void retry_refused();

  /// What the way to the topic suffers from; may be empty.
  std::string trouble() const;

  /// Everything has been dealt with. Requires: nothing unanswered.
  void clear();
  /// Gives up: what is under way is dropped with its client.
  void drop();

 private:
  bool has_room(const Letter& letter) const;
  bool send(std::size_t index);
  void refuse(Letter& letter, const Error& error);
  void take(const Answer& answer);
  void begin_anew();

  WriterOptions options_;
  OpenOutlet open_;
  std::unique_ptr<Outlet> outlet_;
  std::vector<Letter> letters_;
  std::uint64_t first_tag_ = 0;  ///< of letters_[0]: no tag is used twice
  std::size_t next_ = 0;         ///< nothing before it waits
  std::size_t unanswered_ = 0;
  std::size_t refused_ = 0;
  std::size_t under_way_ = 0;
  std::uint64_t under_way_bytes_ = 0;
  std::int64_t minute_until_us_ = 0;
  std::uint64_t letters_this_minute_ = 0;
};

}  // namespace sluice::dead_letter
