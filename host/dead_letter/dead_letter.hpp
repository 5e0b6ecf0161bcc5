// The dead letter of a record (slicer.md F6): the original key, value and headers byte for byte,
// then the host's headers, by Kafka Connect's names and in its order, so that the tools that read
// Connect's dead letter topics read ours. After them come ours, where a worker died of the record.
//
// Pure: views into the record and into texts of its own; whoever sends it copies. The host's
// headers replace none of the record's own, also not one of the same name.
#pragma once

#include <sluice/abi.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/kafka/producer.hpp"

namespace sluice::dead_letter {

/// How many of the host's headers go along. A record that is too large with them goes with fewer:
/// Brief lacks exception.message and exception.stacktrace, None is the original alone.
enum class Context { None, Brief, Full };

/// Connect's stages, and ours for what a record did to its worker.
inline constexpr std::string_view kStagePut = "TASK_PUT";
inline constexpr std::string_view kStageTransformation = "TRANSFORMATION";
inline constexpr std::string_view kStageCrash = "CRASH";
inline constexpr std::string_view kStageHang = "HANG";

/// What a record did to a worker; for kStageCrash and kStageHang.
struct WorkerDeath {
  std::string worker;         ///< slot and pid, for people
  std::int32_t signal = 0;    ///< 0: none
  std::string plugin_sha256;  ///< of the file that was running; empty: not known

  friend bool operator==(const WorkerDeath&, const WorkerDeath&) = default;
};

/// Why a record is set aside.
struct Cause {
  std::string stage;
  std::string plugin;  ///< class.name: the plugin's name; empty: not known
  std::string call;    ///< put, flush, process: the frame in exception.stacktrace
  std::string why;     ///< exception.message; may be empty
  std::optional<WorkerDeath> death;

  friend bool operator==(const Cause&, const Cause&) = default;
};

/// Where the record comes from; views, for as long as the letter lives.
struct Origin {
  std::string_view job;
  std::uint32_t task = 0;  ///< worker slot: Connect's task number
  std::string_view topic;
};

class DeadLetter {
 public:
  DeadLetter(const sluice_record& original, const Origin& origin, const Cause& cause,
             Context context);
  DeadLetter(const DeadLetter&) = delete;
  DeadLetter& operator=(const DeadLetter&) = delete;

  /// Partition by the key and the timestamp of the original, as Connect's (a record from before
  /// 1970-01-01 00:00:00.001 gets the time of the call: librdkafka reads 0 as now).
  const kafka::OutRecord& record() const { return record_; }

 private:
  void add(std::string_view name, std::string value);
  void add_context(const sluice_record& original, const Origin& origin, const Cause& cause,
                   Context context);
  void add_death(const WorkerDeath& death);

  std::deque<std::string> values_;  ///< never moved: headers point into them
  std::vector<sluice_header> headers_;
  kafka::OutRecord record_;
};

}  // namespace sluice::dead_letter
