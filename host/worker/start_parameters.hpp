// What a worker process must know before its first command: which plugins, with which settings and
// digests, which Kafka client properties, which limits. The host encodes it into the sealed segment
// C (facts 3.1), the worker decodes it before it loads anything.
//
// JSON, because it is written once per process, read once, and shown by `sluice job workers --json`
// when something is wrong. Host and worker are one release: a missing, unknown, mistyped or
// out-of-range member is an error, never a default.
//
// Values of plugin settings and client properties may still be references (`${env:NAME}`,
// `${file:/path:key}`, `${credential:ID}`): they are resolved in the worker, so that no secret ever
// stands in a segment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::worker {

/// librdkafka property names and values, in the order in which they are set.
using Properties = std::vector<std::pair<std::string, std::string>>;

/// A topic of the job's topic table; its index is the `topic` of commands, reports and records.
struct TopicName {
  std::string name;
  std::uint32_t incarnation = 0;  ///< how often a topic of this name was recreated (slicer.md F5)

  friend bool operator==(const TopicName&, const TopicName&) = default;
};

enum class PluginKind { Processor, Sink };

/// One plugin of the chain, pinned.
struct PluginInstance {
  PluginKind kind = PluginKind::Sink;
  std::string type;    ///< the plugin's name inside its file, e.g. "filter"
  std::string alias;   ///< what the job calls it: the transform's name, the job's name for the sink
  std::string file;    ///< absolute path of the pinned copy
  std::string sha256;  ///< 64 lower-case hex digits, checked before dlopen
  std::map<std::string, std::string> config;

  friend bool operator==(const PluginInstance&, const PluginInstance&) = default;
};

/// `member` of the plugins that the job calls `alias`. A transform may be called like its job, as
/// the sink is: nothing where they differ, and where there is none.
std::optional<std::string> of_plugins(const std::vector<PluginInstance>& plugins,
                                      std::string_view alias, std::string PluginInstance::*member);

struct BatchLimits {
  std::uint32_t records_max = 1000;
  std::uint64_t bytes_max = 1 << 20;

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

/// Bounds of a flush group (delivery.md D4).
struct FlushLimits {
  std::uint32_t records_max = 50'000;
  std::uint64_t bytes_max = 64U << 20;
  std::uint32_t interval_ms = 1000;

  friend bool operator==(const FlushLimits&, const FlushLimits&) = default;
};

/// How long a plugin may answer RETRY or NOT_CONNECTED (slicer.md 4).
struct RetryPolicy {
  std::int64_t task_retry_timeout_ms = -1;              ///< -1: for ever, as Connect redelivers
  std::optional<std::int64_t> errors_retry_timeout_ms;  ///< processors, where the job sets it
  std::uint32_t delay_max_ms = 60'000;                  ///< errors.retry.delay.max.ms

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// errors.tolerance: what a record that a plugin failed does to its slice.
enum class ErrorsTolerance { None, All };

/// errors.deadletterqueue.context.headers.enable.
enum class ContextHeaders { Off, On };

/// The dead letter queue (slicer.md F6).
struct DeadLetterParameters {
  std::string topic;  ///< exists
  ContextHeaders context_headers = ContextHeaders::Off;
  std::optional<std::uint32_t> rate_max;  ///< letters that this worker may write a minute
  /// How long a letter that the broker refuses is tried; -1: for ever.
  std::int64_t patience_ms = 60'000;

  friend bool operator==(const DeadLetterParameters&, const DeadLetterParameters&) = default;
};

/// worker.core: whether a crash leaves a core file (it delays reassignment, facts 2.2).
enum class CoreFiles { Off, On };

struct StartParameters {
  std::string job;
  std::uint64_t execution = 0;
  std::uint32_t slot = 0;
  std::uint64_t incarnation = 0;  ///< must be the one in the segments' headers
  std::vector<TopicName>
      topics;  ///< entries 0..n-1 of the topic table; later ones come as commands
  std::vector<PluginInstance> plugins;  ///< processors in order, the sink last
  Properties consumer;
  Properties producer;
  BatchLimits batch;
  FlushLimits flush;
  RetryPolicy retry;
  ErrorsTolerance tolerance = ErrorsTolerance::None;
  std::optional<DeadLetterParameters> dead_letters;  ///< where the job has a dead letter topic
  CoreFiles core_files = CoreFiles::Off;
  std::uint32_t stop_timeout_ms = 30'000;

  friend bool operator==(const StartParameters&, const StartParameters&) = default;
};

/// Requires: valid (what decode accepts); the host builds it from a validated configuration.
std::string encode(const StartParameters& parameters);

/// The segment's bytes. Every error names the member, e.g. "plugins[1].sha256".
Result<StartParameters> decode(std::string_view bytes);

}  // namespace sluice::worker
