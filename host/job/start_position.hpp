// Where a partition starts, and when a start is refused (slicer.md S2, S4, S7): a pure decision
// over what the state store and the Kafka group say. Nothing starts at the beginning by accident:
// where the two contradict each other the answer is a Refusal whose sentence says what to do.
//
// Not here: asking Kafka or the store (job_start), expired positions (the slicer, with the low
// watermark), positions of sinks and keyed state (delivery.md D3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "host/base/error.hpp"

namespace sluice::job {

/// `--from`: what the user explicitly wants to start at, or nothing.
struct StartFrom {
  enum class Kind { Frontier, Group, Earliest, Latest, Timestamp };
  Kind kind = Kind::Frontier;
  std::int64_t timestamp_ms = 0;  ///< with Timestamp: since the Unix epoch
};

/// frontier | group | earliest | latest | milliseconds since the epoch | RFC 3339 (UTC, `...Z`).
Result<StartFrom> parse_start_from(const std::string& text);

/// `consumer.override.auto.offset.reset` where nothing else says where to start.
enum class ResetPolicy { Earliest, Latest, None };

/// What is committed in the group: an offset, and metadata that says by whom.
struct GroupOffset {
  std::int64_t offset = 0;
  std::string metadata;
};

/// `sluice/1 <store id> <host incarnation>`, the metadata of every offset we commit (S4).
std::string commit_metadata(const std::string& store_id, std::uint64_t host_incarnation);

/// The store id in such metadata; nothing where somebody else wrote it.
std::optional<std::string> store_id_of(const std::string& metadata);

struct StartQuestion {
  std::string job;
  std::string partition_name;  ///< `orders-3`, for sentences
  std::string store_id;        ///< ours
  std::optional<std::int64_t> frontier;
  /// PartitionRow::lowered_from: the group may still have what is not above it.
  std::int64_t lowered_from = 0;
  /// What is stored is of a topic that was recreated (F5): starts at its beginning.
  bool recreated = false;
  std::optional<GroupOffset> group;
  std::int64_t low = 0;  ///< log start
  std::int64_t end = 0;  ///< end offset (last stable offset under read_committed)
  ResetPolicy reset = ResetPolicy::Earliest;
  /// `slicer.start.timestamp` or --from TIME, resolved to an offset by Kafka.
  std::optional<std::int64_t> timestamp_offset;
  std::optional<StartFrom> from;
  /// The partition or topic appeared while the job existed: it starts at its beginning (S2).
  enum class Appeared { AtFirstStart, Later };
  Appeared appeared = Appeared::AtFirstStart;
};

struct StartAt {
  std::int64_t offset = 0;
  /// Why there: `frontier`, `group`, `earliest`, `latest`, `timestamp`, `recreated`.
  std::string reason;
  std::string warning;  ///< empty, or one sentence for the log
};

struct Refusal {
  ErrorCode code = ErrorCode::Configuration;
  std::string sentence;
};

std::variant<StartAt, Refusal> decide_start(const StartQuestion& question);

}  // namespace sluice::job
