// What a slicer wants done: the output of step(). One object is filled again and again, so that a
// steady state allocates nothing. The runtime carries the lists out in the order of the fields;
// nothing in them waits for an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/slicer/topic_partition.hpp"
#include "host/state/rows.hpp"
#include "ipc/slice_descriptor.hpp"
#include "ipc/slice_terms.hpp"

namespace sluice::slicer {

/// For HostChannel::publish of that incarnation, in this order: slices and revokes. seq and crc are
/// the channel's. Credits keep this far below the ring's capacity: a full ring is a broken worker.
struct SlotCommands {
  Slot slot = kNoSlot;
  std::uint64_t incarnation = 0;
  std::vector<ipc::Command> commands;
};

/// Rules 4 and 5 of ipc facts 3.4, and what only the slicer can see. Names are metric labels.
enum class Rule : std::uint8_t {
  UnknownSlice,       ///< not in flight in this worker
  WrongPartition,     ///< a slice's report names another partition, or one that does not exist
  WrongFence,         ///< a fence that this slice never had
  NextOutside,        ///< next_offset outside the slice, or not its end on DONE
  CountsTooHigh,      ///< more records than offsets, more filtered or errant than records
  SettledOutOfOrder,  ///< a later slice of the lane was reported before an earlier one
  UnknownFailure,     ///< a failure class that does not exist
  LastOutside,        ///< the last record that it read is outside what it read
  ProbeConfused,      ///< a probe that is reported done, or a slice that only survived
  HintBeyondEnd,      ///< visible end above the host's next confirmed end (C2)
};
std::string_view rule_name(Rule rule);

/// Kill this worker (SIGKILL, cause Violation). Its later reports are ignored.
struct Violation {
  Slot slot = kNoSlot;
  std::uint64_t incarnation = 0;
  Rule rule = Rule::UnknownSlice;
  std::uint64_t slice_id = 0;
};

/// A partition stopped: `orders-3 halted at offset 150: ...`. Everything else goes on.
struct Halted {
  TopicPartition tp;
  std::int64_t offset = 0;     ///< of the record or batch that failed; the frontier may be lower
  std::uint64_t slice_id = 0;  ///< 0: no slice of it failed (expired under policy none)
  std::uint32_t attempts = 0;
  Slot slot = kNoSlot;  ///< the task that shows FAILED
  state::SliceError error;
};

/// Something a person will look for in the log. `text` is empty where the numbers say it all.
struct Notice {
  enum class Kind : std::uint8_t {
    Moved,        ///< tp: slot -> other_slot
    Suspected,    ///< slice_id was in the plugin's hands when its worker died (F1)
    Charged,      ///< slice_id failed alone: attempt `attempt` is used
    Restarted,    ///< a halted partition is tried again, by restart.policy or a user (F4)
    Isolating,    ///< slice_id is replaced by its parts (F3)
    Undecided,    ///< a record failed alone, but nothing else has completed since: environment (F2)
    Isolated,     ///< the record at `start` is convicted: set aside, on record
    Recovered,    ///< [start, end) was parked and is delivered now (S6)
    Unrecovered,  ///< [start, end) failed again, and stays parked
    Parked,       ///< [start, end) is set aside, on record
    Expired,      ///< start was not in the log any more: [start, end) is skipped, on record
    Unconfirmed,  ///< a worker said expired, the host's own sample did not
    BeyondEnd,    ///< tp: end is below start (the position), waiting (F5)
    Truncated,    ///< the log was cut off: [start, end) does not count any more, on record
    Recreated,    ///< the topic is another one: goes on at start, the position was end, on record
    Unproved,     ///< nothing to compare: that the topic was recreated cannot be excluded
    StaleReport,  ///< an old fence or a dead owner: counted, moves nothing
  };
  Kind kind = Kind::Moved;
  TopicPartition tp;
  Slot slot = kNoSlot;
  Slot other_slot = kNoSlot;
  std::uint64_t slice_id = 0;
  std::uint32_t attempt = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string text;
};

/// The job fails at once, naming the key (a plugin's configuration error).
struct JobFailure {
  state::SliceError error;
};

/// End this worker by STOP and start another: the next part of an isolated slice needs a process
/// that no record has touched (F3). Nothing of it is in flight. The end is nobody's failure.
struct FreshWorker {
  Slot slot = kNoSlot;
  std::uint64_t incarnation = 0;
};

/// Why a record is dead-lettered, for the worker that gets its slice with kDeadLetterOnly. To be
/// told before the commands.
struct DeadLetterReason {
  Slot slot = kNoSlot;
  std::uint64_t incarnation = 0;
  std::uint64_t slice_id = 0;
  state::SliceError error;
};

/// What belongs to a slice with kProbe or kExclude (F3.4). To be told with its command.
struct RunTerms {
  Slot slot = kNoSlot;
  std::uint64_t incarnation = 0;
  std::uint64_t slice_id = 0;
  ipc::SliceTerms terms;
};

/// Everything is settled, reported and durable.
enum class Outcome : std::uint8_t {
  Completed,
  CompletedWithGaps,  ///< something was parked or skipped
  Failed,             ///< all that could run has run; halted partitions are left
  Stopped,            ///< after stop(): nothing is in flight any more
};

struct Actions {
  std::vector<DeadLetterReason> dead_letters;
  std::vector<RunTerms> terms;
  std::vector<SlotCommands> commands;
  std::vector<FreshWorker> fresh_workers;
  std::vector<Violation> violations;
  std::vector<TopicPartition> sample_ends;  ///< answer each: end_observed or sample_failed
  std::vector<TopicPartition> sample_lows;  ///< answer each: low_observed or sample_failed
  std::vector<Halted> halted;
  std::vector<Notice> notices;
  std::optional<JobFailure> job_failure;
  std::optional<Outcome> ended;  ///< said once; again after restart_halted()

  bool empty() const {
    return dead_letters.empty() && terms.empty() && commands.empty() && fresh_workers.empty() &&
           violations.empty() && sample_ends.empty() && sample_lows.empty() && halted.empty() &&
           notices.empty() && !job_failure && !ended;
  }
};

}  // namespace sluice::slicer
