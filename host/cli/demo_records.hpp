// The demo's orders: made from their number alone, so that what came out can be checked against
// what went in without keeping either.
// Pure but for the two functions that say otherwise: one writes to Kafka, one reads files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "host/base/error.hpp"

namespace sluice::cli {

struct DemoRecords {
  std::string topic = "orders";
  std::string dead_letter_topic = "orders-dead-letters";
  std::int32_t partitions = 8;
  std::uint64_t count = 200'000;
  /// The filter's `value.size.min`: orders with a note are longer, the others shorter.
  std::size_t kept_size_min = 100;

  std::int64_t per_partition() const {
    return static_cast<std::int64_t>(count / static_cast<std::uint64_t>(partitions));
  }
};

/// The order that the demo's plugin cannot stand, near the end of one partition, long after the
/// kill; the filter keeps it.
inline constexpr std::int32_t kPoisonPartition = 5;
inline constexpr std::int64_t kPoisonOffset = 24'001;
/// What its value holds and no other's.
inline constexpr char kPoisonText[] = "\"goods\":\"glass\"";

std::string demo_key(std::int32_t partition, std::int64_t offset);
/// At most 150 bytes.
std::string demo_value(std::int32_t partition, std::int64_t offset);

/// Writes all of them; offset N of partition P gets demo_key(P, N) and demo_value(P, N).
Result<> produce_demo_records(const DemoRecords& records, const std::string& bootstrap_servers);

/// What the output files hold, compared with what the filter should have let through.
struct DemoAudit {
  std::uint64_t expected = 0;
  std::uint64_t lines = 0;
  std::uint64_t delivered = 0;  ///< distinct expected records
  std::uint64_t twice = 0;      ///< lines beyond the first of a record
  std::uint64_t lost = 0;
  std::uint64_t wrong = 0;  ///< lines that are no expected record, or do not parse
};
/// What the poison order's dead letter says.
struct DemoDeadLetter {
  std::uint64_t letters = 0;  ///< in the topic
  bool is_the_poison = false;
  std::string stage;
  std::string message;
  std::string signal;
  std::string offset;
};
/// Reads the dead letter topic to its end.
Result<DemoDeadLetter> read_dead_letter(const DemoRecords& records,
                                        const std::string& bootstrap_servers);

Result<DemoAudit> audit_demo_output(const DemoRecords& records,
                                    const std::filesystem::path& folder);

}  // namespace sluice::cli
