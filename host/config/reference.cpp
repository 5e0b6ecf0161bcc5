#include "host/config/reference.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "host/config/host_keys.hpp"
#include "host/config/job_keys.hpp"

namespace sluice::config {
namespace {

constexpr std::size_t kColumns = 98;

std::string_view group_title(KeyGroup group) {
  switch (group) {
    case KeyGroup::Job:
      return "What to run";
    case KeyGroup::Topics:
      return "Topics";
    case KeyGroup::Chain:
      return "Processors";
    case KeyGroup::Slices:
      return "Slices";
    case KeyGroup::Workers:
      return "Workers";
    case KeyGroup::Deadlines:
      return "Deadlines and retries";
    case KeyGroup::Restarts:
      return "Restarts";
    case KeyGroup::Errors:
      return "Errant records";
    case KeyGroup::DeadLetters:
      return "Dead letter queue";
    case KeyGroup::Expansion:
      return "Partition expansion";
    case KeyGroup::Kafka:
      return "Kafka client";
    case KeyGroup::Converters:
      return "Converters";
    case KeyGroup::Other:
      return "Other keys of Connect";
    case KeyGroup::Folders:
      return "Folders";
    case KeyGroup::Rest:
      return "REST and control socket";
    case KeyGroup::Log:
      return "Log";
    case KeyGroup::Limits:
      return "Limits";
  }
  return {};
}

std::string type_text(const KeySpec& spec) {
  switch (spec.type) {
    case ValueType::Text:
      return "text";
    case ValueType::List:
      return "list";
    case ValueType::Integer:
      return "integer";
    case ValueType::Boolean:
      return "boolean";
    case ValueType::Duration:
      return "duration";
    case ValueType::Bytes:
      return "size";
    case ValueType::Timestamp:
      return "time";
    case ValueType::Choice:
      break;
  }
  std::string text;
  for (const std::string_view choice : choices_of(spec.choices)) {
    text += (text.empty() ? "" : ", ") + std::string{choice};
  }
  return text;
}

std::string default_text(const KeySpec& spec) {
  if (!spec.fallback.empty()) return "`" + std::string{spec.fallback} + "`";
  return spec.fallback_note.empty() ? "-" : std::string{spec.fallback_note};
}

/// Empty: everything works.
std::string today_text(const KeySpec& spec) {
  if (spec.honoured == kAnyValue) return {};
  if (spec.honoured == kNoValue) return "not supported yet";
  std::string text = "today only:";
  for (const std::string_view value : choices_of(spec.honoured)) text += " " + std::string{value};
  return text;
}

std::vector<KeySpec> specs_of(const auto& table) {
  std::vector<KeySpec> specs;
  for (const auto& key : table) specs.push_back(key.spec);
  return specs;
}

std::string tables_of(const std::vector<KeySpec>& specs) {
  std::string text;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const KeySpec& spec = specs[i];
    if (i == 0 || specs[i - 1].group != spec.group) {
      text += "\n### " + std::string{group_title(spec.group)} +
              "\n\n| key | value | default | meaning |\n|---|---|---|---|\n";
    }
    const std::string today = today_text(spec);
    text += "| `" + std::string{spec.name} + "` | " + type_text(spec) + " | " + default_text(spec) +
            " | " + (today.empty() ? "" : "*" + today + "* ") + std::string{spec.doc} + " |\n";
  }
  return text;
}

/// `text` as comment lines of at most kColumns.
std::string as_comment(std::string_view text) {
  std::string out;
  std::string line = "#";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (line.size() + 1 + end > kColumns) {
      out += line + "\n";
      line = "#";
    }
    line += " " + std::string{text.substr(0, end)};
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out + line + "\n";
}

/// A key that begins with another key has to be written in quotes (rule 2).
std::string toml_key(const std::string& name, const std::vector<KeySpec>& specs) {
  const bool begins_with_another = std::any_of(specs.begin(), specs.end(), [&](const auto& other) {
    return name.starts_with(std::string{other.name} + ".");
  });
  return begins_with_another ? "\"" + name + "\"" : name;
}

std::string toml_value(const KeySpec& spec) {
  const std::string value{spec.example.empty() ? spec.fallback : spec.example};
  const bool digits = value.find_first_not_of("-0123456789") == std::string::npos;
  if (spec.type == ValueType::Boolean || (spec.type != ValueType::Text && digits)) return value;
  if (spec.name == "transforms") {
    return "[{ name = \"big\", type = \"filter\", value.size.min = 1000 }]";
  }
  if (spec.type == ValueType::List) return "[\"" + value + "\"]";
  return "\"" + value + "\"";
}

/// As a line that can be uncommented, with one of the keys that a `*` stands for. Nothing where
/// none of them has a name yet, and for a processor's keys, which stand in the list of transforms.
std::string sample_line(const KeySpec& spec, const std::vector<KeySpec>& specs) {
  if (!is_pattern(spec.name)) {
    return "#" + toml_key(std::string{spec.name}, specs) + " = " + toml_value(spec) + "\n";
  }
  const std::size_t star = spec.name.find('*');
  const std::size_t equals = spec.example.find('=');
  if (star == std::string_view::npos || equals == std::string_view::npos) return {};
  const auto name =
      std::string{spec.name.substr(0, star)} + std::string{spec.example.substr(0, equals)};
  return "#" + toml_key(name, specs) + " = \"" + std::string{spec.example.substr(equals + 1)} +
         "\"\n";
}

std::string sample_entry(const KeySpec& spec, const std::vector<KeySpec>& specs) {
  const std::string today = today_text(spec);
  const std::string doc = (is_pattern(spec.name) ? std::string{spec.name} + ": " : "") +
                          std::string{spec.doc} + (today.empty() ? "" : " (" + today + ")");
  return as_comment(doc) + sample_line(spec, specs) + "\n";
}

std::string sample_entries(const std::vector<KeySpec>& specs, auto wanted) {
  std::string text;
  const KeySpec* last = nullptr;
  for (const KeySpec& spec : specs) {
    if (!wanted(spec)) continue;
    if (last == nullptr || last->group != spec.group) {
      text += "# --- " + std::string{group_title(spec.group)} + "\n\n";
    }
    text += sample_entry(spec, specs);
    last = &spec;
  }
  text.pop_back();  // one empty line at the end is one too many
  return text;
}

}  // namespace

std::string key_reference() {
  return "# Configuration keys\n\n"
         "Written from the key tables (`job_keys.cpp`, `host_keys.cpp`) by `unit_config "
         "\"[generate]\"`.\n"
         "A duration is an integer (milliseconds) or a number with ms, s, m, h or d; a size is an "
         "integer\n(bytes) or a number with KiB, MiB or GiB. Keys marked *not supported yet* are "
         "refused until they are built.\nAll keys of a job that are not named here belong to its "
         "sink: `sluice-worker --describe FILE`.\n\n"
         "## A job: jobs.d/NAME.toml, .json or .properties\n" +
         tables_of(specs_of(job_keys())) + "\n## The host: sluice.toml\n" +
         tables_of(specs_of(host_keys()));
}

std::string job_sample() {
  const auto specs = specs_of(job_keys());
  return "# A sample job: every record of the topic `orders` becomes one line of JSON in a file "
         "per\n"
         "# partition. Below are all other keys that a job can have, each with its default, or an\n"
         "# example where it has none.\n\n"
         "name = \"orders-to-files\"\n"
         "topics = [\"orders\"]\n"
         "connector.class = \"file\"\n"
         "file = \"/var/lib/sluice/out/{topic}-{partition}.jsonl\"\n\n" +
         sample_entries(specs, [](const KeySpec& spec) {
           return spec.name != "name" && spec.name != "topics" && spec.name != "connector.class";
         });
}

std::string host_sample() {
  const auto specs = specs_of(host_keys());
  const auto is_kafka = [](const KeySpec& spec) { return spec.name.starts_with("kafka."); };
  return "# The host: where Kafka is, where state, jobs and plugins live. All keys with their "
         "defaults, or\n# an example where there is none; a relative path begins at this file's "
         "folder.\n\n" +
         sample_entries(specs, [&](const KeySpec& spec) { return !is_kafka(spec); }) +
         "\n# --- Kafka client\n\n" + as_comment(specs[0].doc) +
         "[kafka]\nbootstrap.servers = \"localhost:9092\"\n\n" + as_comment(specs[1].doc) +
         "#security.protocol = \"sasl_ssl\"\n"
         "#sasl.mechanism = \"SCRAM-SHA-512\"\n"
         "#sasl.username = \"sluice\"\n"
         "#sasl.password = \"${credential:kafka-password}\"\n";
}

}  // namespace sluice::config
