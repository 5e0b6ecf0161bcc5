#include "host/worker/start_parameters.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <limits>

#include "host/worker/json_members.hpp"

namespace sluice::worker {

namespace json = boost::json;

namespace {

/// Raised whenever a member is added, removed or changes its meaning.
constexpr std::int64_t kFormat = 2;
constexpr std::size_t kTopicsMax = 1024;  // entries of the topic table, facts 3.1b
constexpr std::size_t kPluginsMax = 64;
constexpr std::size_t kSha256Digits = 64;

json::array encode_pairs(const Properties& properties) {
  json::array pairs;
  for (const auto& [name, value] : properties) pairs.push_back(json::array{name, value});
  return pairs;
}

json::array encode_topics(const std::vector<TopicName>& topics) {
  json::array array;
  for (const TopicName& topic : topics) {
    array.push_back(json::object{{"name", topic.name}, {"incarnation", topic.incarnation}});
  }
  return array;
}

json::array encode_plugins(const std::vector<PluginInstance>& plugins) {
  json::array array;
  for (const PluginInstance& plugin : plugins) {
    json::object config;
    for (const auto& [key, value] : plugin.config) config[key] = value;
    array.push_back(json::object{{"kind", plugin.kind == PluginKind::Sink ? "sink" : "processor"},
                                 {"type", plugin.type},
                                 {"alias", plugin.alias},
                                 {"file", plugin.file},
                                 {"sha256", plugin.sha256},
                                 {"config", std::move(config)}});
  }
  return array;
}

json::object encode_retry(const RetryPolicy& retry) {
  json::object object{{"task_retry_timeout_ms", retry.task_retry_timeout_ms},
                      {"delay_max_ms", retry.delay_max_ms}};
  if (retry.errors_retry_timeout_ms) {
    object["errors_retry_timeout_ms"] = *retry.errors_retry_timeout_ms;
  }
  return object;
}

json::object encode_dead_letters(const DeadLetterParameters& wanted) {
  json::object object{
      {"topic", wanted.topic},
      {"context_headers", wanted.context_headers == ContextHeaders::On ? "on" : "off"},
      {"patience_ms", wanted.patience_ms}};
  if (wanted.rate_max) object["rate_max"] = *wanted.rate_max;
  return object;
}

std::string element_path(std::string_view name, std::size_t index) {
  return std::string{name} + "[" + std::to_string(index) + "]";
}

/// One of two words.
bool is_first_word(JsonMembers& members, std::string_view name, std::string_view first,
                   std::string_view second, JsonFault& fault) {
  const std::string word = members.text(name);
  if (word != first && word != second) {
    fault.note(members.path_of(name),
               "is neither " + std::string{first} + " nor " + std::string{second});
  }
  return word == first;
}

void decode_topics(const json::array& array, StartParameters& into, JsonFault& fault) {
  if (array.size() > kTopicsMax) fault.note("topics", "has more entries than the topic table");
  for (std::size_t i = 0; i < array.size() && !fault.found(); ++i) {
    JsonMembers members{array[i], element_path("topics", i), fault};
    TopicName topic;
    topic.name = members.filled_text("name");
    topic.incarnation = static_cast<std::uint32_t>(
        members.natural("incarnation", std::numeric_limits<std::uint32_t>::max()));
    into.topics.push_back(std::move(topic));
  }
}

bool is_sha256(const std::string& digits) {
  return digits.size() == kSha256Digits &&
         digits.find_first_not_of("0123456789abcdef") == std::string::npos;
}

PluginInstance decode_plugin(const json::value& value, const std::string& path, JsonFault& fault) {
  JsonMembers members{value, path, fault};
  PluginInstance plugin;
  plugin.kind = is_first_word(members, "kind", "sink", "processor", fault) ? PluginKind::Sink
                                                                           : PluginKind::Processor;
  plugin.type = members.filled_text("type");
  plugin.alias = members.filled_text("alias");
  plugin.file = members.filled_text("file");
  if (!plugin.file.starts_with('/')) fault.note(path + ".file", "is not an absolute path");
  plugin.sha256 = members.text("sha256");
  if (!is_sha256(plugin.sha256)) fault.note(path + ".sha256", "is not 64 lower-case hex digits");
  plugin.config = members.text_map("config");
  return plugin;
}

void decode_plugins(const json::array& array, StartParameters& into, JsonFault& fault) {
  if (array.empty() || array.size() > kPluginsMax) {
    fault.note("plugins", "must have 1 to " + std::to_string(kPluginsMax) + " entries");
  }
  for (std::size_t i = 0; i < array.size() && !fault.found(); ++i) {
    into.plugins.push_back(decode_plugin(array[i], element_path("plugins", i), fault));
    const bool last = i + 1 == array.size();
    if ((into.plugins.back().kind == PluginKind::Sink) != last) {
      fault.note(element_path("plugins", i), "exactly the last plugin must be a sink");
    }
  }
}

void decode_limits(JsonMembers& members, StartParameters& into, JsonFault& fault) {
  {
    JsonMembers batch{members.required("batch"), "batch", fault};
    into.batch.records_max = batch.positive<std::uint32_t>("records_max");
    into.batch.bytes_max = batch.positive<std::uint64_t>("bytes_max");
  }
  {
    JsonMembers flush{members.required("flush"), "flush", fault};
    into.flush.records_max = flush.positive<std::uint32_t>("records_max");
    into.flush.bytes_max = flush.positive<std::uint64_t>("bytes_max");
    into.flush.interval_ms = flush.positive<std::uint32_t>("interval_ms");
  }
  constexpr auto kEver = std::numeric_limits<std::int64_t>::max();
  JsonMembers retry{members.required("retry"), "retry", fault};
  into.retry.task_retry_timeout_ms = retry.integer("task_retry_timeout_ms", -1, kEver);
  into.retry.delay_max_ms = retry.positive<std::uint32_t>("delay_max_ms");
  if (retry.optional("errors_retry_timeout_ms") != nullptr) {
    into.retry.errors_retry_timeout_ms = retry.integer("errors_retry_timeout_ms", -1, kEver);
  }
}

DeadLetterParameters decode_dead_letters(const json::value& value, JsonFault& fault) {
  JsonMembers members{value, "dead_letters", fault};
  DeadLetterParameters wanted;
  wanted.topic = members.filled_text("topic");
  wanted.context_headers = is_first_word(members, "context_headers", "on", "off", fault)
                               ? ContextHeaders::On
                               : ContextHeaders::Off;
  wanted.patience_ms = members.integer("patience_ms", -1, std::numeric_limits<std::int64_t>::max());
  if (members.optional("rate_max") != nullptr) {
    wanted.rate_max = members.positive<std::uint32_t>("rate_max");
  }
  return wanted;
}

StartParameters decode_document(const json::value& document, JsonFault& fault) {
  constexpr auto kU64 = std::numeric_limits<std::uint64_t>::max();
  StartParameters parameters;
  JsonMembers members{document, {}, fault};
  members.integer("format", kFormat, kFormat);
  parameters.job = members.filled_text("job");
  parameters.execution = members.natural("execution", kU64);
  parameters.slot = static_cast<std::uint32_t>(
      members.natural("slot", std::numeric_limits<std::uint32_t>::max()));
  parameters.incarnation = members.natural("incarnation", kU64);
  decode_topics(members.array("topics"), parameters, fault);
  decode_plugins(members.array("plugins"), parameters, fault);
  parameters.consumer = members.text_pairs("consumer");
  parameters.producer = members.text_pairs("producer");
  decode_limits(members, parameters, fault);
  parameters.tolerance = is_first_word(members, "tolerance", "all", "none", fault)
                             ? ErrorsTolerance::All
                             : ErrorsTolerance::None;
  if (const json::value* wanted = members.optional("dead_letters"); wanted != nullptr) {
    parameters.dead_letters = decode_dead_letters(*wanted, fault);
  }
  parameters.core_files =
      is_first_word(members, "core_files", "on", "off", fault) ? CoreFiles::On : CoreFiles::Off;
  parameters.stop_timeout_ms = members.positive<std::uint32_t>("stop_timeout_ms");
  return parameters;
}

}  // namespace

std::optional<std::string> of_plugins(const std::vector<PluginInstance>& plugins,
                                      std::string_view alias, std::string PluginInstance::*member) {
  std::optional<std::string> found;
  for (const PluginInstance& plugin : plugins) {
    if (plugin.alias != alias) continue;
    if (found && *found != plugin.*member) return std::nullopt;
    found = plugin.*member;
  }
  return found;
}

std::string encode(const StartParameters& parameters) {
  json::object object{{"format", kFormat},
                      {"job", parameters.job},
                      {"execution", parameters.execution},
                      {"slot", parameters.slot},
                      {"incarnation", parameters.incarnation},
                      {"topics", encode_topics(parameters.topics)},
                      {"plugins", encode_plugins(parameters.plugins)},
                      {"consumer", encode_pairs(parameters.consumer)},
                      {"producer", encode_pairs(parameters.producer)},
                      {"batch", json::object{{"records_max", parameters.batch.records_max},
                                             {"bytes_max", parameters.batch.bytes_max}}},
                      {"flush", json::object{{"records_max", parameters.flush.records_max},
                                             {"bytes_max", parameters.flush.bytes_max},
                                             {"interval_ms", parameters.flush.interval_ms}}},
                      {"retry", encode_retry(parameters.retry)},
                      {"tolerance", parameters.tolerance == ErrorsTolerance::All ? "all" : "none"},
                      {"core_files", parameters.core_files == CoreFiles::On ? "on" : "off"},
                      {"stop_timeout_ms", parameters.stop_timeout_ms}};
  if (parameters.dead_letters) {
    object["dead_letters"] = encode_dead_letters(*parameters.dead_letters);
  }
  return json::serialize(object);
}

Result<StartParameters> decode(std::string_view bytes) {
  JsonFault fault{"start parameters"};
  const json::value document = parse_json(bytes, fault);
  if (fault.found()) return fault.error();
  StartParameters parameters = decode_document(document, fault);
  if (fault.found()) return fault.error();
  return parameters;
}

}  // namespace sluice::worker
