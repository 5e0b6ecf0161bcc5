// A job, as its author wrote it, checked and typed. One flat struct: a field's name is its key with
// dots as underscores, and the table in job_keys.cpp binds the one to the other, so that a key is
// named once. Keys of plugins stay text here: their schema lives in the plugin (host/plugin_catalog
// asks a worker process), and a Problem found there is put back to line and column by position().
//
// Made only by load.hpp; a JobConfig that exists is valid in itself. What it does not know: whether
// topics exist, whether plugins do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/config/position.hpp"
#include "host/config/topic_pattern.hpp"

namespace sluice::config {

enum class Mode { Persistent, Once };
enum class Assignment { Sticky, Linear, Any };
enum class OnFailure { Halt, Isolate, Park };
enum class RestartPolicy { Backoff, None };
enum class ErrorsTolerance { None, All };
enum class OffsetReset { Earliest, Latest, None };
enum class Isolation { ReadCommitted, ReadUncommitted };
enum class LateRecords { Fail, DeadLetter, Process };

/// librdkafka's names; in the order of the file.
using Properties = std::vector<std::pair<std::string, std::string>>;

struct PluginValue {
  std::string value;
  Position position;
};

/// One plugin of the chain, with the keys that are its own, prefix taken off.
struct PluginConfig {
  enum class Kind { Sink, Processor };
  Kind kind = Kind::Sink;
  std::string type;     ///< name, alias or Connect's class, as written
  std::string version;  ///< empty: the newest installed
  std::string name;     ///< a processor's name in `transforms`; empty for the sink
  std::string prefix;   ///< what stands before its keys in the job: "transforms.NAME.", or empty
  Position type_position;
  std::map<std::string, PluginValue> keys;
};

struct JobConfig {
  std::string name;
  std::string origin;  ///< file name, or what the loader was told to call the text

  // What to run
  std::string connector_class;
  std::string connector_plugin_version;
  Mode mode = Mode::Persistent;
  std::int64_t tasks_max = 1;
  std::vector<std::string> topics;
  std::string topics_regex;
  std::optional<TopicPattern> topic_pattern;  ///< topics.regex; `topics` is empty then
  std::vector<std::string> transforms;
  PluginConfig sink;
  std::vector<PluginConfig> processors;  ///< in the order of `transforms`

  // Slices
  Assignment slicer_assignment = Assignment::Sticky;
  std::optional<std::int64_t> slicer_start_timestamp_ms;
  std::int64_t slice_max_records = 0;
  std::int64_t slice_max_bytes = 0;
  std::int64_t slice_attempts_max = 0;
  OnFailure slice_on_failure = OnFailure::Halt;
  std::int64_t slice_isolate_max = 0;
  std::int64_t slice_retention_records = 0;
  std::int64_t slice_retention_ms = 0;

  // Workers
  std::int64_t worker_batch_max_records = 0;
  std::int64_t worker_batch_max_bytes = 0;
  std::int64_t worker_flush_max_records = 0;
  std::int64_t worker_flush_max_bytes = 0;
  std::int64_t worker_flush_interval_ms = 0;
  std::int64_t worker_credit_slices = 0;
  std::int64_t worker_credit_records = 0;
  std::optional<std::int64_t> worker_memory_max;
  std::int64_t worker_standby = 0;
  bool worker_core = false;
  std::int64_t worker_rebalance_delay_ms = 0;

  // Deadlines, retries, restarts
  std::int64_t task_call_timeout_ms = 0;
  std::int64_t task_stop_timeout_ms = 0;
  std::int64_t task_retry_timeout_ms = 0;  ///< -1: for ever
  RestartPolicy restart_policy = RestartPolicy::Backoff;
  std::int64_t restart_backoff_ms = 0;
  std::int64_t restart_backoff_max_ms = 0;
  std::int64_t restart_reset_ms = 0;
  std::int64_t restart_max = 0;  ///< -1: no bound

  // Errors
  ErrorsTolerance errors_tolerance = ErrorsTolerance::None;
  std::optional<std::int64_t> errors_retry_timeout_ms;  ///< -1: for ever; unset: task.retry's
  std::int64_t errors_retry_delay_max_ms = 0;
  bool errors_log_enable = false;
  bool errors_log_include_messages = false;
  std::string errors_deadletterqueue_topic_name;
  std::int64_t errors_deadletterqueue_topic_replication_factor = 0;
  bool errors_deadletterqueue_context_headers_enable = false;
  std::optional<std::int64_t> errors_deadletterqueue_rate_max;

  // Expansion
  std::string expansion_partitioner;
  std::int64_t expansion_detect_ms = 0;
  std::int64_t expansion_transition_ms = 0;
  std::int64_t expansion_settle_ms = 0;
  std::string expansion_history;
  std::optional<LateRecords> expansion_late_records;

  // Kafka
  OffsetReset auto_offset_reset = OffsetReset::Earliest;  ///< consumer.override.*
  Isolation isolation_level = Isolation::ReadCommitted;   ///< consumer.override.*
  Properties consumer;  ///< consumer.override.*, without the two above
  Properties producer;  ///< producer.override.*

  /// The flat map that was read, in the order of the file: Connect's `config`.
  std::vector<std::pair<std::string, std::string>> config;
  /// What holds: every key of the host with its value in integers, and the written plugin keys.
  std::vector<std::pair<std::string, std::string>> effective;
  /// Accepted, but worth a line in the log.
  std::vector<std::string> warnings;

  /// Where a key was written; of no key: the file's beginning.
  Position position(std::string_view key) const;
  std::map<std::string, Position, std::less<>> positions;
};

}  // namespace sluice::config
