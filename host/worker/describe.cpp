#include "host/worker/describe.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "host/worker/json_members.hpp"
#include "host/worker/sha256.hpp"

namespace sluice::worker {

namespace json = boost::json;

namespace {

// Parentheses: braces around one element make a json::array of it.
json::value text_or_null(const char* text) {
  return text == nullptr ? json::value() : json::value(text);
}

const char* type_name(sluice_config_type type) {
  switch (type) {
    case SLUICE_TYPE_STRING:
      return "string";
    case SLUICE_TYPE_INT:
      return "int";
    case SLUICE_TYPE_FLOAT:
      return "float";
    case SLUICE_TYPE_BOOL:
      return "bool";
    case SLUICE_TYPE_DURATION:
      return "duration";
    case SLUICE_TYPE_BYTES:
      return "bytes";
    case SLUICE_TYPE_ENUM:
      return "enum";
    case SLUICE_TYPE_LIST:
      return "list";
    case SLUICE_TYPE_MAP:
      return "map";
    case SLUICE_TYPE_SECRET:
      return "secret";
    default:
      return "unknown";  // refused by PluginModule::check
  }
}

const char* importance_name(sluice_importance importance) {
  if (importance == SLUICE_IMPORTANCE_HIGH) return "high";
  return importance == SLUICE_IMPORTANCE_MEDIUM ? "medium" : "low";
}

json::array texts(const char* const* first, std::uint32_t count) {
  json::array array;
  for (std::uint32_t i = 0; i < count; ++i) array.push_back(json::value(first[i]));
  return array;
}

json::object describe_key(const sluice_config_key& key) {
  return {{"name", key.name},
          {"type", type_name(key.type)},
          {"doc", key.doc},
          {"required", (key.flags & SLUICE_KEY_REQUIRED) != 0},
          {"default", text_or_null(key.default_value)},
          {"min", text_or_null(key.min)},
          {"max", text_or_null(key.max)},
          {"pattern", text_or_null(key.pattern)},
          {"choices", texts(key.choices, key.choice_count)},
          {"group", text_or_null(key.group)},
          {"order", key.order},
          {"importance", importance_name(key.importance)},
          {"since", text_or_null(key.since)},
          {"deprecated", text_or_null(key.deprecated)},
          {"example", text_or_null(key.example)},
          {"dependents", texts(key.dependents, key.dependent_count)}};
}

json::object describe_alias(const sluice_alias& alias) {
  json::object presets;
  for (std::uint32_t i = 0; i < alias.preset_count; ++i) {
    presets[alias.presets[i].key] = alias.presets[i].value;
  }
  return {{"name", alias.name}, {"presets", std::move(presets)}};
}

json::array capability_names(std::uint64_t bits) {
  json::array names;
  if ((bits & SLUICE_CAP_STABLE_SLICES) != 0) names.push_back("stable-slices");
  if ((bits & SLUICE_CAP_TRANSACTION) != 0) names.push_back("transaction");
  if ((bits & SLUICE_CAP_IDEMPOTENT) != 0) names.push_back("idempotent");
  if ((bits & SLUICE_CAP_KEYED_STATE) != 0) names.push_back("keyed-state");
  return names;
}

json::object describe_plugin(const PluginModule::Plugin& plugin) {
  json::array keys;
  for (const sluice_config_key* key : plugin.keys) keys.push_back(describe_key(*key));
  json::array aliases;
  for (const sluice_alias* alias : plugin.aliases) aliases.push_back(describe_alias(*alias));
  const sluice_descriptor& descriptor = *plugin.descriptor;
  return {{"name", descriptor.name},
          {"kind", std::string{kind_name(descriptor.kind)}},
          {"version", descriptor.version},
          {"summary", text_or_null(descriptor.summary)},
          {"capabilities", capability_names(descriptor.capabilities)},
          {"state_version", descriptor.state_version},
          {"oldest_state_version", descriptor.oldest_state_version},
          {"aliases", std::move(aliases)},
          {"keys", std::move(keys)}};
}

/// One plugin of a validate request.
struct Candidate {
  std::string type, alias, file;
  sluice_kind kind = SLUICE_KIND_SINK;
  std::map<std::string, std::string> config;
};

Candidate read_candidate(const json::value& value, const std::string& path, JsonFault& fault) {
  JsonMembers members{value, path, fault};
  Candidate candidate;
  candidate.type = members.filled_text("type");
  candidate.alias = members.filled_text("alias");
  candidate.file = members.filled_text("file");
  const std::string kind = members.text("kind");
  if (kind != "sink" && kind != "processor") {
    fault.note(path + ".kind", "is neither sink nor processor");
  }
  candidate.kind = kind == "processor" ? SLUICE_KIND_PROCESSOR : SLUICE_KIND_SINK;
  candidate.config = members.text_map("config");
  return candidate;
}

std::vector<KeyProblem> problems_of(const Candidate& candidate, const ResolveText& resolve) {
  const auto module = load_module(candidate.file);
  if (!module) return {{"", module.error().message()}};
  const auto choice = find_plugin(*module, candidate.type, candidate.kind, candidate.file);
  if (!choice) return {{"", choice.error().message()}};
  const CheckedSettings checked = PluginSettings::check(*choice, candidate.config, resolve);
  // The plugin's own rules assume that every key is valid by itself (abi.h), and known.
  if (!checked.problems.empty() || !checked.complete) return checked.problems;
  return validate_settings(*choice, *checked.settings);
}

}  // namespace

std::string describe_module(const PluginModule& module, const std::string& file,
                            std::string_view sha256) {
  json::array plugins;
  for (const PluginModule::Plugin& plugin : module.plugins()) {
    plugins.push_back(describe_plugin(plugin));
  }
  const sluice_module& abi = module.module();
  return json::serialize(json::object{{"file", file},
                                      {"sha256", sha256},
                                      {"build", text_or_null(abi.build)},
                                      {"abi", json::object{{"major", abi.abi_major},
                                                           {"minor", abi.abi_minor},
                                                           {"needs_minor", abi.needs_minor}}},
                                      {"plugins", std::move(plugins)}});
}

Result<std::string> describe_file(const std::string& file) {
  const auto sha256 = sha256_of_file(file);
  if (!sha256) return sha256.error();
  const auto module = load_module(file);
  if (!module) return module.error();
  return describe_module(*module, file, *sha256);
}

Result<std::string> validate_request(std::string_view request, const ResolveText& resolve) {
  JsonFault fault{"validate request"};
  const json::value document = parse_json(request, fault);
  std::vector<Candidate> candidates;
  if (!fault.found()) {
    JsonMembers members{document, {}, fault};
    const json::array& array = members.array("plugins");
    for (std::size_t i = 0; i < array.size(); ++i) {
      candidates.push_back(read_candidate(array[i], "plugins[" + std::to_string(i) + "]", fault));
    }
  }
  if (fault.found()) return fault.error();
  json::array errors;
  for (const Candidate& candidate : candidates) {
    for (const KeyProblem& problem : problems_of(candidate, resolve)) {
      errors.push_back(json::object{
          {"plugin", candidate.alias}, {"key", problem.key}, {"message", problem.message}});
    }
  }
  return json::serialize(json::object{{"errors", std::move(errors)}});
}

}  // namespace sluice::worker
