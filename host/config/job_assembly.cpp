// A job from its flat map: the host's keys by the table, Kafka's, the plugins', and what no single
// key can know (topics given at all, one default that hangs on another key).
#include <algorithm>
#include <set>

#include "host/base/nearest_name.hpp"
#include "host/config/converters.hpp"

#include "host/config/assembly.hpp"
#include "host/config/job_keys.hpp"
#include "host/config/kafka_properties.hpp"
#include "host/config/key_reader.hpp"
#include "host/config/plugin_keys.hpp"
#include "host/config/values.hpp"

namespace sluice::config {
namespace {

constexpr std::string_view kConsumerOverride = "consumer.override.";
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr std::size_t kJobNameBytesMax = 200;
constexpr std::size_t kTopicNameBytesMax = 249;  // Kafka's own limit
// Of the larger of slice and batch. Eight small slices alone would be one batch: worker and host
// would wait for each other in turn (slicer.md C1: credit keeps the worker's ring filled).
constexpr std::int64_t kCreditAhead = 8;

bool is_plain_name(std::string_view name, std::size_t bytes_max) {
  return !name.empty() && name.size() <= bytes_max && name != "." && name != ".." &&
         name.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

class JobAssembly {
 public:
  JobAssembly(const Entries& entries, const LoadOptions& options, Problems& problems)
      : entries_{entries}, options_{options}, problems_{problems} {}

  JobConfig assemble() {
    read_keys(job_keys(), is_pattern, entries_, config_, config_.effective, problems_);
    check_name();
    check_topics();
    check_dead_letters();
    require("connector.class", "name the sink, for example file");
    check_converters(entries_, problems_);
    for (const Entry& entry : entries_.list()) classify(entry);
    take_plugin_keys(entries_, config_, problems_);
    set_dependent_defaults();
    list_plugin_keys();
    for (const Entry& entry : entries_.list()) {
      config_.config.emplace_back(entry.key, entry.value);
      config_.positions.emplace(entry.key, entry.position);
    }
    return std::move(config_);
  }

 private:
  void require(std::string_view key, std::string_view what) {
    if (entries_.find(key) == nullptr) {
      problems_.add({}, std::string{key}, "missing; " + std::string{what});
    }
  }

  void check_name() {
    require("name", "every job has one");
    const Entry* const entry = entries_.find("name");
    if (entry == nullptr || config_.name.empty()) return;
    if (!is_plain_name(config_.name, kJobNameBytesMax)) {
      problems_.add(entry->position, entry->key,
                    in_quotes(entry->value) +
                        " is no name for a job; write 1 to 200 of A-Z a-z 0-9 . _ -, not . or ..");
    }
  }

  void check_pattern(const Entry& entry) {
    auto pattern = TopicPattern::compile(entry.value);
    if (!pattern) {
      return problems_.add(entry.position, entry.key,
                           in_quotes(entry.value) + " is no regular expression for topics: " +
                               pattern.error().message());
    }
    config_.topic_pattern = *std::move(pattern);
  }

  void check_topics() {
    const Entry* const entry = entries_.find("topics");
    const Entry* const regex = entries_.find("topics.regex");
    if (regex != nullptr) {
      if (entry != nullptr) {
        problems_.add(regex->position, regex->key, "is given beside topics; take one of them out");
      }
      return check_pattern(*regex);
    }
    if (entry == nullptr) return require("topics", "name at least one topic");
    const auto refuse = [&](std::string what) {
      problems_.add(entry->position, entry->key, std::move(what));
    };
    if (trim(entry->value).empty()) refuse("is empty; name at least one topic");
    std::set<std::string_view> seen;
    for (const std::string& topic : config_.topics) {
      if (!is_plain_name(topic, kTopicNameBytesMax)) {
        refuse(in_quotes(topic) + " is no topic's name; write 1 to 249 of A-Z a-z 0-9 . _ -");
      } else if (!seen.insert(topic).second) {
        refuse("names " + topic + " twice; take one out");
      }
    }
  }

  void check_dead_letters() {
    const Entry* const entry = entries_.find("errors.deadletterqueue.topic.name");
    if (entry == nullptr) return;
    const std::string& topic = config_.errors_deadletterqueue_topic_name;
    const auto refuse = [&](std::string what) {
      problems_.add(entry->position, entry->key, std::move(what));
    };
    const auto& topics = config_.topics;
    if (!is_plain_name(topic, kTopicNameBytesMax)) {
      refuse(in_quotes(topic) + " is no topic's name; write 1 to 249 of A-Z a-z 0-9 . _ -");
    } else if (std::find(topics.begin(), topics.end(), topic) != topics.end() ||
               (config_.topic_pattern && config_.topic_pattern->matches(topic))) {
      refuse("is a topic that the job reads: it would read its own dead letters; name another");
    }
    if (config_.errors_tolerance == ErrorsTolerance::None &&
        config_.slice_on_failure != OnFailure::Isolate) {
      config_.warnings.push_back(
          "errors.deadletterqueue.topic.name: nothing goes there with errors.tolerance = none and "
          "without slice.on.failure = isolate");
    }
  }

  /// Keys of the host that are no row of the table: overrides, and mistakes.
  void classify(const Entry& entry) {
    const std::string_view key = entry.key;
    if (is_known(key) || !is_host_key(key) || key.starts_with("transforms.")) return;
    if (key.starts_with(kConsumerOverride)) return take_consumer_property(entry);
    if (key.starts_with("producer.override.") || key.starts_with("admin.override.") ||
        key.starts_with("predicates.")) {
      return problems_.add(entry.position, printable(key), "not supported yet; take the key out");
    }
    if (is_of_source_connectors(key)) {
      return problems_.add(entry.position, printable(key),
                           "is for source connectors, and Sluice runs sinks; take the key out");
    }
    refuse_unknown(entry);
  }

  /// Never with the value: under a mistyped key it may be a secret.
  void refuse_unknown(const Entry& entry) {
    std::vector<std::string_view> known;
    for (const auto& row : job_keys()) {
      if (!is_pattern(row.spec.name)) known.push_back(row.spec.name);
    }
    const std::string_view nearest = nearest_name(entry.key, known);
    problems_.add(entry.position, printable(entry.key),
                  nearest.empty() ? "unknown key, and its beginning is the host's; take it out"
                                  : "unknown key; did you mean " + std::string{nearest} + "?");
  }

  void take_consumer_property(const Entry& entry) {
    const std::string_view name = std::string_view{entry.key}.substr(kConsumerOverride.size());
    PropertyVerdict verdict = judge_property(KafkaClient::Job, name);
    const auto refuse = [&](std::string what) {
      problems_.add(entry.position, printable(entry.key), std::move(what));
    };
    if (verdict.name.empty()) return refuse(std::move(verdict.refusal));
    if (options_.kafka_property && !has_placeholder(entry.value)) {
      std::string why = options_.kafka_property(verdict.name, entry.value);
      if (!why.empty()) return refuse(std::move(why));
    }
    const bool twice = std::any_of(config_.consumer.begin(), config_.consumer.end(),
                                   [&](const auto& pair) { return pair.first == verdict.name; });
    if (twice) return refuse("is " + verdict.name + ", which is set already; take one out");
    if (verdict.name != name) {
      config_.warnings.push_back(entry.key + " is taken as librdkafka's " + verdict.name);
    }
    config_.effective.emplace_back(std::string{kConsumerOverride} + verdict.name, entry.value);
    config_.consumer.emplace_back(std::move(verdict.name), entry.value);
  }

  void set_dependent_defaults() {
    if (config_.errors_tolerance == ErrorsTolerance::All &&
        entries_.find("slice.on.failure") == nullptr) {
      config_.slice_on_failure = OnFailure::Isolate;
      for (auto& [key, value] : config_.effective) {
        if (key == "slice.on.failure") value = "isolate";
      }
    }
    if (config_.worker_credit_records != 0) return check_credit();
    config_.worker_credit_records =
        kCreditAhead * std::max(config_.slice_max_records, config_.worker_batch_max_records);
    config_.effective.emplace_back("worker.credit.records",
                                   std::to_string(config_.worker_credit_records));
  }

  void check_credit() {
    const Entry* const entry = entries_.find("worker.credit.records");
    if (entry == nullptr || config_.worker_credit_records >= config_.slice_max_records) return;
    problems_.add(entry->position, entry->key,
                  "must be at least slice.max.records, which is " +
                      std::to_string(config_.slice_max_records));
  }

  void list_plugin_keys() {
    for (const Entry& entry : entries_.list()) {
      if (entry.key.starts_with("transforms.") || !is_host_key(entry.key)) {
        config_.effective.emplace_back(entry.key, entry.value);
      }
    }
  }

  const Entries& entries_;
  const LoadOptions& options_;
  Problems& problems_;
  JobConfig config_;
};

}  // namespace

Position JobConfig::position(std::string_view key) const {
  const auto found = positions.find(key);
  return found == positions.end() ? Position{} : found->second;
}

JobConfig assemble_job(const Entries& entries, const LoadOptions& options, Problems& problems) {
  return JobAssembly{entries, options, problems}.assemble();
}

}  // namespace sluice::config
