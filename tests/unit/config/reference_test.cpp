// The files that people read about keys are the tables' own words, and what they show works.
#include "host/config/reference.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config_text.hpp"
#include "host/config/host_keys.hpp"
#include "host/config/job_keys.hpp"

namespace sluice::config {
namespace {

const std::filesystem::path kSource{SLUICE_SOURCE_DIR};

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The lines `#key = value` of a sample, without their `#`.
Lines commented_keys(const std::string& sample) {
  Lines keys;
  std::istringstream in{sample};
  for (std::string line; std::getline(in, line);) {
    if (line.size() > 1 && line[0] == '#' && line[1] != ' ') keys.push_back(line.substr(1));
  }
  return keys;
}

}  // namespace

TEST_CASE("the reference and the samples are what the tables say", "[config]") {
  INFO("write them anew: unit_config \"[generate]\"");
  CHECK(text_of(kSource / "host/config/keys.md") == key_reference());
  CHECK(text_of(kSource / "etc/sluice.toml") == host_sample());
  CHECK(text_of(kSource / "etc/jobs.d/file.toml") == job_sample());
}

TEST_CASE("every key stands in its sample", "[config]") {
  for (const auto& key : job_keys()) {
    CAPTURE(key.spec.name);
    CHECK(job_sample().find(std::string{key.spec.name}) != std::string::npos);
  }
  for (const auto& key : host_keys()) {
    const std::string name{key.spec.name};
    CAPTURE(name);
    // Properties of [kafka] stand in their table.
    const std::string shown = name == "kafka.*"            ? "security.protocol"
                              : name.starts_with("kafka.") ? name.substr(6)
                                                           : name;
    CHECK(host_sample().find(shown) != std::string::npos);
  }
}

TEST_CASE("the samples are read as they stand", "[config]") {
  const auto job = load_job(kSource / "etc/jobs.d/file.toml");
  REQUIRE(job.has_value());
  CHECK(job->sink.keys.count("file") == 1);
  CHECK(load_host(kSource / "etc/sluice.toml").has_value());
}

TEST_CASE("every commented key of the job's sample is taken, or not supported yet", "[config]") {
  for (const std::string& line : commented_keys(job_sample())) {
    CAPTURE(line);
    for (const std::string& problem : problems_after_head(line)) {
      // The head has topics, and a job has one or the other.
      const bool beside = problem.find("is given beside topics") != std::string::npos;
      CHECK((beside || problem.find("not supported yet") != std::string::npos));
    }
  }
}

TEST_CASE("every commented key of the host's sample is taken, or not supported yet", "[config]") {
  const std::string kafka = "\n[kafka]\nbootstrap.servers = \"b:1\"\n";
  for (const std::string& line : commented_keys(host_sample())) {
    CAPTURE(line);
    const bool of_kafka =
        line.starts_with("s") && !line.starts_with("state") && !line.starts_with("slices");
    LoadOptions options;
    options.environment.variable = [](std::string_view) { return std::optional{std::string{"/"}}; };
    options.environment.file = [](std::string_view) -> Result<std::string> {
      return std::string{"x"};
    };
    const auto host = parse_host(of_kafka ? kafka + line : line + kafka, "f", options);
    if (!host) CHECK(host.error().text().find("not supported yet") != std::string::npos);
  }
}

TEST_CASE("writes the generated files", "[.][generate]") {
  std::filesystem::create_directories(kSource / "etc/jobs.d");
  std::ofstream{kSource / "host/config/keys.md"} << key_reference();
  std::ofstream{kSource / "etc/sluice.toml"} << host_sample();
  std::ofstream{kSource / "etc/jobs.d/file.toml"} << job_sample();
}

}  // namespace sluice::config
