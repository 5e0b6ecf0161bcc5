#include <catch2/catch.hpp>
#include <map>

#include "config_text.hpp"

namespace sluice::config {
namespace {

LoadOptions options_with(std::map<std::string, std::string> variables) {
  LoadOptions options;
  options.environment.variable = [=](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string{name});
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  };
  return options;
}

const std::string kKafka = "[kafka]\nbootstrap.servers = \"b:9092\"\n";

HostConfig host(const std::string& text, std::map<std::string, std::string> variables = {}) {
  return parse_host(text, "/etc/sluice/sluice.toml", options_with(std::move(variables))).value();
}

Lines host_problems(const std::string& text) {
  const auto parsed = parse_host(text, "f", options_with({}));
  return parsed ? Lines{} : lines_of(parsed.error());
}

}  // namespace

TEST_CASE("a host file needs the brokers and nothing else", "[config]") {
  const HostConfig config = host(kKafka);
  CHECK(config.kafka == Properties{{"bootstrap.servers", "b:9092"}});
  CHECK(config.state_dir == "/var/lib/sluice");
  CHECK(config.jobs_dir == "/etc/sluice/jobs.d");
  CHECK(config.plugin_path.empty());
  CHECK(config.log_level == LogLevel::Info);
  CHECK(config.log_format == LogFormat::Auto);
  CHECK(config.slices_per_second_max == 20'000);
  CHECK(
      host_problems("") ==
      Lines{"f: kafka.bootstrap.servers: missing; write the brokers, for example localhost:9092"});
}

TEST_CASE("under systemd the state folder is the service's", "[config]") {
  CHECK(host(kKafka, {{"STATE_DIRECTORY", "/var/lib/a:/var/lib/b"}}).state_dir == "/var/lib/a");
  CHECK(host("state.dir = \"/x\"\n" + kKafka, {{"STATE_DIRECTORY", "/var/lib/a"}}).state_dir ==
        "/x");
}

TEST_CASE("relative folders begin at the file's folder", "[config]") {
  const HostConfig config =
      host("state.dir = \"../state\"\nplugin.path = [\"plugins\", \"/opt/p\"]\n" + kKafka);
  CHECK(config.state_dir == "/etc/state");
  CHECK(config.plugin_path == Lines{"/etc/sluice/plugins", "/opt/p"});
}

TEST_CASE("[kafka] takes any property, resolves placeholders and shows them as written",
          "[config]") {
  const HostConfig config =
      host(kKafka + "sasl.password = \"${env:PW}\"\nfetch.max.wait.ms = 5\n", {{"PW", "s3cret"}});
  CHECK(config.kafka == Properties{{"bootstrap.servers", "b:9092"},
                                   {"sasl.password", "s3cret"},
                                   {"fetch.wait.max.ms", "5"}});
  for (const auto& [key, value] : config.shown) {
    CAPTURE(key);
    CHECK(value.find("s3cret") == std::string::npos);
  }
}

TEST_CASE("mistakes in the host file are refused word for word", "[config]") {
  CHECK(host_problems(kKafka + "sasl.password = \"${env:NO}\"") ==
        Lines{"f:3:1: kafka.sasl.password: ${env:NO}: the environment has no such variable"});
  CHECK(host_problems(kKafka + "group.id = \"x\"") ==
        Lines{"f:3:1: kafka.group.id: belongs to the host: the host commits to the group "
              "connect-NAME; take the key out"});
  CHECK(host_problems(kKafka + "isolation.level = \"x\"") ==
        Lines{"f:3:1: kafka.isolation.level: cannot be set here: write "
              "consumer.override.isolation.level in the job; take the key out"});
  CHECK(host_problems("jobs.dirs = \"x\"\n" + kKafka) ==
        Lines{"f:1:1: jobs.dirs: unknown key; did you mean jobs.dir?"});
  CHECK(host_problems("zzzzzzzz = \"x\"\n" + kKafka) ==
        Lines{"f:1:1: zzzzzzzz: unknown key; take it out"});
  CHECK(host_problems("rest.tls.cert = \"x\"\nrest.auth.basic = \"x\"\n" + kKafka) ==
        Lines{"f:1:1: rest.tls.cert: not supported yet; take the key out",
              "f:2:1: rest.auth.basic: not supported yet; take the key out"});
  CHECK(host_problems("log.level = \"loud\"\nslices.per.second.max = 0\n" + kKafka) ==
        Lines{"f:1:1: log.level: must be debug, info, warning or error, not 'loud'",
              "f:2:1: slices.per.second.max: must be at least 1, not '0'"});
  CHECK(host_problems("[kafka]\nbootstrap.servers = \"\"") ==
        Lines{"f:2:1: kafka.bootstrap.servers: must not be empty"});
}

}  // namespace sluice::config
