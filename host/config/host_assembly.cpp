// The host's configuration from its flat map. [kafka] is any property of librdkafka, so it is no
// part of the table; its placeholders are resolved here and `shown` keeps them as written.
#include <algorithm>
#include <filesystem>

#include "host/base/nearest_name.hpp"
#include "host/config/assembly.hpp"
#include "host/config/host_keys.hpp"
#include "host/config/job_keys.hpp"
#include "host/config/kafka_properties.hpp"
#include "host/config/key_reader.hpp"
#include "host/config/values.hpp"

namespace sluice::config {
namespace {

constexpr std::string_view kKafka = "kafka.";
constexpr std::string_view kBootstrap = "kafka.bootstrap.servers";
constexpr std::string_view kStateDir = "/var/lib/sluice";

class HostAssembly {
 public:
  HostAssembly(const Entries& entries, const LoadOptions& options, Problems& problems)
      : entries_{entries}, options_{options}, problems_{problems} {}

  HostConfig assemble(std::string_view origin) {
    read_keys(host_keys(), is_not_plain, entries_, config_, config_.shown, problems_);
    for (const Entry& entry : entries_.list()) classify(entry);
    if (entries_.find(kBootstrap) == nullptr) {
      problems_.add({}, std::string{kBootstrap},
                    "missing; write the brokers, for example localhost:9092");
    }
    set_folders(std::filesystem::path{origin}.parent_path());
    return std::move(config_);
  }

 private:
  /// [kafka] is read apart, since any property may stand there.
  static bool is_not_plain(std::string_view name) {
    return is_pattern(name) || name.starts_with(kKafka);
  }

  void classify(const Entry& entry) {
    const std::string_view key = entry.key;
    if (key.starts_with(kKafka)) return take_kafka_property(entry);
    const auto rows = host_keys();
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return row.spec.name == key && !is_pattern(row.spec.name);
    });
    if (known) return;
    if (key.starts_with("rest.auth.") || key.starts_with("rest.tls.")) {
      return problems_.add(entry.position, printable(key), "not supported yet; take the key out");
    }
    std::vector<std::string_view> names;
    for (const auto& row : rows) {
      if (!is_pattern(row.spec.name)) names.push_back(row.spec.name);
    }
    const std::string_view nearest = nearest_name(key, names);
    problems_.add(entry.position, printable(key),
                  nearest.empty() ? "unknown key; take it out"
                                  : "unknown key; did you mean " + std::string{nearest} + "?");
  }

  void take_kafka_property(const Entry& entry) {
    const std::string_view name = std::string_view{entry.key}.substr(kKafka.size());
    PropertyVerdict verdict = judge_property(KafkaClient::Host, name);
    const auto refuse = [&](std::string what) {
      problems_.add(entry.position, printable(entry.key), std::move(what));
    };
    if (verdict.name.empty()) return refuse(std::move(verdict.refusal));
    auto value = resolve_placeholders(entry.value, options_.environment);
    if (!value) return refuse(value.error().message());
    if (entry.key == kBootstrap && trim(*value).empty()) return refuse("must not be empty");
    if (options_.kafka_property) {
      std::string why = options_.kafka_property(verdict.name, *value);
      if (!why.empty()) return refuse(std::move(why));
    }
    const bool twice = std::any_of(config_.kafka.begin(), config_.kafka.end(),
                                   [&](const auto& pair) { return pair.first == verdict.name; });
    if (twice) return refuse("is " + verdict.name + ", which is set already; take one out");
    config_.shown.emplace_back(std::string{kKafka} + verdict.name, entry.value);
    config_.kafka.emplace_back(std::move(verdict.name), *std::move(value));
  }

  void set_folders(const std::filesystem::path& home) {
    if (config_.state_dir.empty()) {
      const auto directory = options_.environment.variable("STATE_DIRECTORY");
      // systemd joins several with colons; the first one is ours.
      config_.state_dir =
          directory ? directory->substr(0, directory->find(':')) : std::string{kStateDir};
      config_.shown.emplace_back("state.dir", config_.state_dir);
    }
    const auto anchored = [&](const std::string& path) {
      return (home / path).lexically_normal().string();
    };
    config_.state_dir = anchored(config_.state_dir);
    config_.jobs_dir = anchored(config_.jobs_dir);
    for (std::string& folder : config_.plugin_path) folder = anchored(folder);
  }

  const Entries& entries_;
  const LoadOptions& options_;
  Problems& problems_;
  HostConfig config_;
};

}  // namespace

HostConfig assemble_host(const Entries& entries, const LoadOptions& options,
                         std::string_view origin, Problems& problems) {
  return HostAssembly{entries, options, problems}.assemble(origin);
}

}  // namespace sluice::config
