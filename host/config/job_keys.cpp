#include "host/config/job_keys.hpp"

#include <algorithm>
#include <array>

namespace sluice::config {
namespace {

using enum KeyOrigin;
using enum ValueType;
using Group = KeyGroup;

constexpr std::int64_t kDayMs = 86'400'000;
// The command ring has 1,024 slots; a quarter is for topics, revokes and stops
// (host/slicer/options.hpp).
constexpr std::int64_t kCreditSlicesMax = 768;
// A slice report counts records in 32 bits.
constexpr std::int64_t kRecordsMax = 1'000'000'000;

template <typename Enum, auto kMember>
constexpr ChoiceSetter<JobConfig> kChoice = &set_choice<JobConfig, Enum, kMember>;

// One row is one key; the formatter would make 300 more lines of it.
// clang-format off
constexpr std::array kJobKeys = std::to_array<BoundKey<JobConfig>>({
    // What to run
    {{.name = "name", .group = Group::Job, .origin = Connect,
      .doc = "The job's name: 1 to 200 of A-Z a-z 0-9 . _ -, blanks around it cut off. Required.",
      .example = "orders-archive"},
     &JobConfig::name},
    {{.name = "connector.class", .group = Group::Job, .origin = Connect,
      .doc = "The sink: a plugin's name or alias (FileStreamSink is `file`). Required.",
      .example = "file"},
     &JobConfig::connector_class},
    {{.name = "connector.plugin.version", .group = Group::Job, .origin = Connect,
      .fallback_note = "the newest installed",
      .doc = "The sink's exact version. Ranges such as [1.0,2.0) are not supported yet.",
      .example = "1.0.0"},
     &JobConfig::connector_plugin_version},
    {{.name = "mode", .group = Group::Job, .type = Choice, .fallback = "persistent",
      .choices = "persistent|once",
      .doc = "persistent follows the topics; once takes their end offsets at the start, processes "
             "everything below and ends."},
     kChoice<Mode, &JobConfig::mode>},
    {{.name = "tasks.max", .group = Group::Job, .origin = Connect, .type = Integer,
      .fallback = "1", .min = 1, .max = 1'000,
      .doc = "How many workers. More than partitions is accepted; the rest idle."},
     &JobConfig::tasks_max},
    {{.name = "tasks.max.enforce", .group = Group::Job, .origin = Connect, .type = Boolean,
      .fallback = "true", .honoured = "true",
      .doc = "Sluice never runs more workers than tasks.max."},
     std::monostate{}},

    {{.name = "topics", .group = Group::Topics, .origin = Connect, .type = List,
      .doc = "The topics to read, at least one.", .example = "orders"},
     &JobConfig::topics},
    {{.name = "topics.regex", .group = Group::Topics, .origin = Connect,
      .doc = "Instead of topics: a pattern of Java's that must match a topic's whole name.",
      .example = "orders-.*"},
     &JobConfig::topics_regex},

    {{.name = "transforms", .group = Group::Chain, .origin = Connect, .type = List,
      .fallback_note = "none",
      .doc = "The processors in order. In TOML a list of tables, each with name, type and the "
             "plugin's keys; elsewhere a list of names.",
      .example = "big"},
     &JobConfig::transforms},
    {{.name = "transforms.NAME.type", .group = Group::Chain, .origin = Connect,
      .doc = "The processor: a plugin's name or alias. Required.", .example = "filter"},
     std::monostate{}},
    {{.name = "transforms.NAME.plugin.version", .group = Group::Chain, .origin = Connect,
      .fallback_note = "the newest installed", .doc = "The processor's exact version.",
      .example = "1.0.0"},
     std::monostate{}},
    {{.name = "transforms.NAME.predicate", .group = Group::Chain, .origin = Connect,
      .honoured = kNoValue, .doc = "The predicate that a record must meet.",
      .example = "tombstone"},
     std::monostate{}},
    {{.name = "transforms.NAME.negate", .group = Group::Chain, .origin = Connect,
      .honoured = kNoValue, .doc = "Turns the predicate round.", .example = "false"},
     std::monostate{}},
    {{.name = "transforms.NAME.*", .group = Group::Chain, .origin = Connect,
      .doc = "The processor's own keys: `sluice-worker --describe FILE`."},
     std::monostate{}},
    {{.name = "predicates", .group = Group::Chain, .origin = Connect, .type = List,
      .honoured = kNoValue,
      .doc = "TopicNameMatches, HasHeaderKey, RecordIsTombstone, by name.", .example = "tombstone"},
     std::monostate{}},

    {{.name = "slicer.assignment", .group = Group::Slices, .type = Choice, .fallback = "sticky",
      .choices = "sticky|linear|any",
      .doc = "sticky: a partition stays with its worker. linear: linear hashing, so that keys keep "
             "their worker when topics grow. any: no order."},
     kChoice<Assignment, &JobConfig::slicer_assignment>},
    {{.name = "slicer.start.timestamp", .group = Group::Slices, .type = Timestamp,
      .doc = "Where a partition without frontier and group offset starts: milliseconds since 1970 "
             "or RFC 3339.",
      .example = "2026-01-31T12:00:00Z"},
     &JobConfig::slicer_start_timestamp_ms},
    {{.name = "slice.max.records", .group = Group::Slices, .type = Integer, .fallback = "10000",
      .min = 1, .max = kRecordsMax, .doc = "Most offsets in one slice."},
     &JobConfig::slice_max_records},
    {{.name = "slice.max.bytes", .group = Group::Slices, .type = Bytes, .fallback = "16MiB",
      .min = 1, .doc = "Most bytes in one slice, by the sizes seen so far."},
     &JobConfig::slice_max_bytes},
    {{.name = "slice.attempts.max", .group = Group::Slices, .type = Integer, .fallback = "4",
      .min = 1, .max = 1'000, .doc = "How often a slice is tried before slice.on.failure decides."},
     &JobConfig::slice_attempts_max},
    {{.name = "slice.on.failure", .group = Group::Slices, .type = Choice, .fallback = "halt",
      .choices = "halt|isolate|park",
      .doc = "halt: the partition stops, nothing is lost. isolate: the one bad record is found and "
             "set aside. park: the slice is recorded and passed. With errors.tolerance = all the "
             "default is isolate."},
     kChoice<OnFailure, &JobConfig::slice_on_failure>},
    {{.name = "slice.isolate.max", .group = Group::Slices, .type = Integer, .fallback = "3",
      .min = 1, .max = 1'000,
      .doc = "Most records set aside per partition and hour; then the partition halts."},
     &JobConfig::slice_isolate_max},
    {{.name = "slice.retention.records", .group = Group::Slices, .type = Integer,
      .fallback = "10000", .max = kRecordsMax,
      .doc = "How many completed slice records are kept one by one; older ones are folded."},
     &JobConfig::slice_retention_records},
    {{.name = "slice.retention.ms", .group = Group::Slices, .type = Duration, .fallback = "24h",
      .doc = "For how long completed slice records are kept one by one; whichever keeps fewer."},
     &JobConfig::slice_retention_ms},

    {{.name = "worker.batch.max.records", .group = Group::Workers, .type = Integer,
      .fallback = "1000", .min = 1, .max = 1'000'000, .doc = "Most records in one batch."},
     &JobConfig::worker_batch_max_records},
    {{.name = "worker.batch.max.bytes", .group = Group::Workers, .type = Bytes, .fallback = "1MiB",
      .min = 1, .doc = "Most bytes in one batch; one larger record is a batch of its own."},
     &JobConfig::worker_batch_max_bytes},
    {{.name = "worker.flush.max.records", .group = Group::Workers, .type = Integer,
      .fallback = "50000", .min = 1, .max = kRecordsMax,
      .doc = "A flush group ends at this many records."},
     &JobConfig::worker_flush_max_records},
    {{.name = "worker.flush.max.bytes", .group = Group::Workers, .type = Bytes,
      .fallback = "64MiB", .min = 1,
      .doc = "A flush group ends at this many bytes; they stay in the worker's memory until then."},
     &JobConfig::worker_flush_max_bytes},
    {{.name = "worker.flush.interval.ms", .group = Group::Workers, .type = Duration,
      .fallback = "1s", .min = 1, .max = kDayMs, .doc = "A flush group ends at this age."},
     &JobConfig::worker_flush_interval_ms},
    {{.name = "worker.credit.slices", .group = Group::Workers, .type = Integer, .fallback = "256",
      .min = 1, .max = kCreditSlicesMax, .doc = "Most slices that wait in one worker's ring."},
     &JobConfig::worker_credit_slices},
    {{.name = "worker.credit.records", .group = Group::Workers, .type = Integer,
      .fallback_note = "8 x the larger of slice.max.records and worker.batch.max.records", .min = 1,
      .doc = "Most offsets in the slices that wait in one worker's ring.", .example = "80000"},
     &JobConfig::worker_credit_records},
    {{.name = "worker.memory.max", .group = Group::Workers, .type = Bytes, .min = 1,
      .doc = "A worker with more resident memory is killed, cause `memory`.",
      .example = "512MiB"},
     &JobConfig::worker_memory_max},
    {{.name = "worker.standby", .group = Group::Workers, .type = Integer, .fallback = "0",
      .max = 1'000, .doc = "How many warm workers wait for another's death."},
     &JobConfig::worker_standby},
    {{.name = "worker.core", .group = Group::Workers, .type = Boolean, .fallback = "false",
      .doc = "Whether a crash leaves a core file, which delays the restart by seconds."},
     &JobConfig::worker_core},
    {{.name = "worker.rebalance.delay.ms", .group = Group::Workers, .type = Duration,
      .fallback = "60s", .max = kDayMs,
      .doc = "How long a slot must be healthy before partitions move back to it."},
     &JobConfig::worker_rebalance_delay_ms},

    {{.name = "task.call.timeout.ms", .group = Group::Deadlines, .type = Duration,
      .fallback = "60s", .min = 100, .max = kDayMs,
      .doc = "A plugin call that takes longer counts as hung: the worker is killed."},
     &JobConfig::task_call_timeout_ms},
    {{.name = "task.stop.timeout.ms", .group = Group::Deadlines, .type = Duration,
      .fallback = "30s", .min = 100, .max = kDayMs,
      .doc = "How long a plugin's stop, and a whole drain, may take."},
     &JobConfig::task_stop_timeout_ms},
    {{.name = "task.retry.timeout.ms", .group = Group::Deadlines, .type = Duration,
      .fallback = "-1", .minus_one = true,
      .doc = "How long a call that answers RETRY is repeated; -1: for ever, as in Connect."},
     &JobConfig::task_retry_timeout_ms},

    {{.name = "restart.policy", .group = Group::Restarts, .type = Choice,
      .fallback = "backoff", .choices = "backoff|none",
      .doc = "Whether halted partitions of a persistent job start again by themselves."},
     kChoice<RestartPolicy, &JobConfig::restart_policy>},
    {{.name = "restart.backoff.ms", .group = Group::Restarts, .type = Duration,
      .fallback = "10s", .min = 1, .max = kDayMs,
      .doc = "The first wait before a restart; it doubles."},
     &JobConfig::restart_backoff_ms},
    {{.name = "restart.backoff.max.ms", .group = Group::Restarts, .type = Duration,
      .fallback = "10m", .min = 1, .max = kDayMs, .doc = "The longest wait."},
     &JobConfig::restart_backoff_max_ms},
    {{.name = "restart.reset.ms", .group = Group::Restarts, .type = Duration, .fallback = "10m",
      .min = 1, .max = kDayMs,
      .doc = "After this long in health the waits begin anew."},
     &JobConfig::restart_reset_ms},
    {{.name = "restart.max", .group = Group::Restarts, .type = Integer, .fallback = "-1",
      .max = kRecordsMax, .minus_one = true,
      .doc = "Most restarts in a row; -1: no bound."},
     &JobConfig::restart_max},

    {{.name = "errors.tolerance", .group = Group::Errors, .origin = Connect, .type = Choice,
      .fallback = "none", .choices = "none|all",
      .doc = "all: a record that a plugin fails is counted as errant, goes to the dead letter "
             "queue where there is one, and is passed. none: its slice fails."},
     kChoice<ErrorsTolerance, &JobConfig::errors_tolerance>},
    {{.name = "errors.retry.timeout", .group = Group::Errors, .origin = Connect, .type = Integer,
      .fallback_note = "task.retry.timeout.ms", .minus_one = true,
      .doc = "Milliseconds, for processors: how long a call that answers RETRY is repeated; -1: "
             "for ever. Also how long a dead letter that the broker refuses is tried, which where "
             "neither key says more is a minute.",
      .example = "300000"},
     &JobConfig::errors_retry_timeout_ms},
    {{.name = "errors.retry.delay.max.ms", .group = Group::Errors, .origin = Connect,
      .type = Integer, .fallback = "60000", .min = 1, .max = kDayMs,
      .doc = "The longest wait between two tries; the first is 100 ms."},
     &JobConfig::errors_retry_delay_max_ms},
    {{.name = "errors.log.enable", .group = Group::Errors, .origin = Connect, .type = Boolean,
      .fallback = "false", .honoured = "false", .doc = "Whether every errant record is logged."},
     &JobConfig::errors_log_enable},
    {{.name = "errors.log.include.messages", .group = Group::Errors, .origin = Connect,
      .type = Boolean, .fallback = "false", .honoured = "false",
      .doc = "Whether such a line names topic, partition, offset and timestamp."},
     &JobConfig::errors_log_include_messages},

    {{.name = "errors.deadletterqueue.topic.name", .group = Group::DeadLetters, .origin = Connect,
      .doc = "Where errant records go, written and acknowledged before their offsets are passed. "
             "Without it they are only counted. Needs errors.tolerance = all or slice.on.failure = "
             "isolate.",
      .example = "orders-dlq"},
     &JobConfig::errors_deadletterqueue_topic_name},
    {{.name = "errors.deadletterqueue.topic.replication.factor", .group = Group::DeadLetters,
      .origin = Connect, .type = Integer, .fallback = "3", .min = 1, .max = 32'767,
      .doc = "If the topic does not exist, a job's start creates it with one partition, this "
             "factor and the broker's defaults, as Connect does; a cluster with fewer brokers "
             "refuses the job."},
     &JobConfig::errors_deadletterqueue_topic_replication_factor},
    {{.name = "errors.deadletterqueue.context.headers.enable", .group = Group::DeadLetters,
      .origin = Connect, .type = Boolean, .fallback = "false",
      .doc = "Whether a dead letter carries __connect.errors.* headers, after the record's own. "
             "Where they make it too large it goes with fewer or none."},
     &JobConfig::errors_deadletterqueue_context_headers_enable},
    {{.name = "errors.deadletterqueue.rate.max", .group = Group::DeadLetters, .type = Integer,
      .min = 1, .max = kRecordsMax,
      .doc = "Most dead letters that one worker writes a minute; above it slices fail, and the "
             "partition halts, instead of emptying the topic into the queue.",
      .example = "1000"},
     &JobConfig::errors_deadletterqueue_rate_max},

    {{.name = "expansion.partitioner", .group = Group::Expansion, .fallback = "auto",
      .honoured = kNoValue, .doc = "auto, murmur2, crc32, fnv1a or unknown."},
     &JobConfig::expansion_partitioner},
    {{.name = "expansion.detect.ms", .group = Group::Expansion, .type = Duration,
      .fallback = "1s", .min = 1, .max = kDayMs,
      .doc = "How often partition counts, and topics of topics.regex, are asked for."},
     &JobConfig::expansion_detect_ms},
    {{.name = "expansion.transition.ms", .group = Group::Expansion, .type = Duration,
      .fallback = "10m", .min = 1, .honoured = kNoValue,
      .doc = "How long producers may still use the old count."},
     &JobConfig::expansion_transition_ms},
    {{.name = "expansion.settle.ms", .group = Group::Expansion, .type = Duration,
      .fallback = "1s", .min = 1, .max = kDayMs, .honoured = kNoValue,
      .doc = "How long after a slice's end was seen the other partitions are sampled."},
     &JobConfig::expansion_settle_ms},
    {{.name = "expansion.history", .group = Group::Expansion, .honoured = kNoValue,
      .doc = "Partition counts with their times, from before the first start.",
      .example = "4@2026-01-01T00:00:00Z"},
     &JobConfig::expansion_history},
    {{.name = "expansion.late.records", .group = Group::Expansion, .type = Choice,
      .fallback_note = "fail with keyed state, else process", .choices = "fail|dead-letter|process",
      .honoured = kNoValue, .doc = "What becomes of a record that came after its transition.",
      .example = "process"},
     kChoice<LateRecords, &JobConfig::expansion_late_records>},

    {{.name = "consumer.override.auto.offset.reset", .group = Group::Kafka, .origin = Connect,
      .type = Choice, .fallback = "earliest", .choices = "earliest|latest|none",
      .doc = "Where a partition without frontier and group offset starts, and where it goes on "
             "when its offset has expired."},
     kChoice<OffsetReset, &JobConfig::auto_offset_reset>},
    {{.name = "consumer.override.isolation.level", .group = Group::Kafka, .origin = Connect,
      .type = Choice, .fallback = "read_committed", .choices = "read_committed|read_uncommitted",
      .doc = "Connect's default is read_uncommitted."},
     kChoice<Isolation, &JobConfig::isolation_level>},
    {{.name = "consumer.override.*", .group = Group::Kafka, .origin = Connect,
      .doc = "Properties of the workers' Kafka client, by librdkafka's names; Java's names with an "
             "exact equivalent are translated.",
      .example = "fetch.min.bytes=1"},
     std::monostate{}},
    {{.name = "producer.override.*", .group = Group::Kafka, .origin = Connect,
      .honoured = kNoValue, .doc = "Properties of the producer of dead letters.",
      .example = "acks=all"},
     std::monostate{}},
    {{.name = "admin.override.*", .group = Group::Kafka, .origin = Connect, .honoured = kNoValue,
      .doc = "Properties of the client that creates the dead letter topic.",
      .example = "socket.timeout.ms=60000"},
     std::monostate{}},

    {{.name = "key.converter", .group = Group::Converters, .origin = Connect,
      .fallback_note = "bytes pass through",
      .doc = "ByteArrayConverter, StringConverter, or JsonConverter with schemas.enable = false: "
             "bytes pass through.",
      .example = "org.apache.kafka.connect.converters.ByteArrayConverter"},
     std::monostate{}},
    {{.name = "key.converter.schemas.enable", .group = Group::Converters, .origin = Connect,
      .type = Boolean, .fallback_note = "true with JsonConverter, as Connect", .honoured = "false",
      .doc = "Needs to be false with JsonConverter.", .example = "false"},
     std::monostate{}},
    {{.name = "value.converter", .group = Group::Converters, .origin = Connect,
      .fallback_note = "bytes pass through", .doc = "As key.converter.",
      .example = "org.apache.kafka.connect.converters.ByteArrayConverter"},
     std::monostate{}},
    {{.name = "value.converter.schemas.enable", .group = Group::Converters, .origin = Connect,
      .type = Boolean, .fallback_note = "true with JsonConverter, as Connect", .honoured = "false",
      .doc = "Needs to be false with JsonConverter.", .example = "false"},
     std::monostate{}},
    {{.name = "header.converter", .group = Group::Converters, .origin = Connect,
      .fallback_note = "bytes pass through", .doc = "As key.converter.",
      .example = "org.apache.kafka.connect.converters.ByteArrayConverter"},
     std::monostate{}},
    {{.name = "header.converter.schemas.enable", .group = Group::Converters, .origin = Connect,
      .type = Boolean, .fallback_note = "true with JsonConverter, as Connect", .honoured = "false",
      .doc = "Needs to be false with JsonConverter.", .example = "false"},
     std::monostate{}},

    {{.name = "config.action.reload", .group = Group::Other, .origin = Connect, .type = Choice,
      .fallback = "none", .choices = "restart|none", .honoured = "none",
      .doc = "Whether the job restarts when a ${...} would have another value."},
     std::monostate{}},
});
// clang-format on

constexpr auto kReservedPrefixes = std::to_array<std::string_view>({
    "slicer.",        "slice.",           "worker.",           "task.",
    "tasks.",         "restart.",         "expansion.",        "errors.",
    "connector.",     "topics.",          "transforms.",       "predicates.",
    "key.converter.", "value.converter.", "header.converter.", "consumer.",
    "producer.",      "admin.",           "config.",           "mode.",
});

// Connect's keys of source connectors.
constexpr auto kSourcePrefixes = std::to_array<std::string_view>({
    "topic.creation.",
    "exactly.once.support",
    "transaction.boundary",
    "offsets.storage.topic",
});

/// interfaces.md: no key of Sluice's own is a dotted prefix of another (TOML forbids both at once).
constexpr bool own_keys_are_no_prefixes() {
  for (const auto& a : kJobKeys) {
    for (const auto& b : kJobKeys) {
      const bool begins = b.spec.name.starts_with(a.spec.name) &&
                          b.spec.name.size() > a.spec.name.size() &&
                          b.spec.name[a.spec.name.size()] == '.';
      if (begins && a.spec.origin == Ours) return false;
    }
  }
  return true;
}
static_assert(own_keys_are_no_prefixes());

/// Durations of ours end in .ms; everybody can tell a unit from a name.
constexpr bool own_durations_end_in_ms() {
  return std::all_of(kJobKeys.begin(), kJobKeys.end(), [](const auto& key) {
    return key.spec.type != Duration || key.spec.name.ends_with(".ms");
  });
}
static_assert(own_durations_end_in_ms());

}  // namespace

std::span<const BoundKey<JobConfig>> job_keys() {
  return kJobKeys;
}

bool is_known(std::string_view key) {
  return std::any_of(kJobKeys.begin(), kJobKeys.end(), [&](const BoundKey<JobConfig>& row) {
    return row.spec.name == key && !is_pattern(row.spec.name);
  });
}

bool is_host_key(std::string_view key) {
  const bool reserved =
      std::any_of(kReservedPrefixes.begin(), kReservedPrefixes.end(),
                  [&](std::string_view prefix) { return key.starts_with(prefix); });
  return reserved || is_of_source_connectors(key) || is_known(key);
}

bool is_of_source_connectors(std::string_view key) {
  return std::any_of(kSourcePrefixes.begin(), kSourcePrefixes.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

}  // namespace sluice::config
