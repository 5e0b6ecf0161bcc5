#include "host/config/kafka_properties.hpp"

#include <catch2/catch.hpp>

#include "config_text.hpp"

namespace sluice::config {

TEST_CASE("librdkafka's names pass, in the order of the file", "[config]") {
  const JobConfig job = job_with(
      "consumer.override.fetch.min.bytes = 7\n"
      "consumer.override.client.rack = \"r1\"");
  CHECK(job.consumer == Properties{{"fetch.min.bytes", "7"}, {"client.rack", "r1"}});
  CHECK(job.warnings.empty());
  CHECK(effective(job, "consumer.override.fetch.min.bytes") == "7");
}

TEST_CASE("a Java name with an exact equivalent is translated, and that is said", "[config]") {
  const JobConfig job = job_with("consumer.override.fetch.max.wait.ms = 100");
  CHECK(job.consumer == Properties{{"fetch.wait.max.ms", "100"}});
  CHECK(job.warnings ==
        Lines{"consumer.override.fetch.max.wait.ms is taken as librdkafka's fetch.wait.max.ms"});
}

TEST_CASE("both names of one property are refused", "[config]") {
  CHECK(problems_after_head("consumer.override.fetch.wait.max.ms = 1\n"
                            "consumer.override.fetch.max.wait.ms = 2") ==
        Lines{"f:5:1: consumer.override.fetch.max.wait.ms: is fetch.wait.max.ms, which is set "
              "already; take one out"});
}

TEST_CASE("what is Java's alone is refused with the way to say it here", "[config]") {
  CHECK(problems_after_head("consumer.override.max.poll.records = 100") ==
        Lines{"f:4:1: consumer.override.max.poll.records: is Java's, librdkafka has no such "
              "property: write worker.batch.max.records in the job"});
  CHECK(problems_after_head("consumer.override.sasl.jaas.config = \"x\"") ==
        Lines{"f:4:1: consumer.override.sasl.jaas.config: is Java's, librdkafka has no such "
              "property: write sasl.username and sasl.password"});
}

TEST_CASE("what the host decides is refused with the reason", "[config]") {
  CHECK(problems_after_head("consumer.override.group.id = \"x\"") ==
        Lines{"f:4:1: consumer.override.group.id: belongs to the host: the host commits to the "
              "group connect-NAME; take the key out"});
  CHECK(problems_after_head("consumer.override.bootstrap.servers = \"x\"") ==
        Lines{"f:4:1: consumer.override.bootstrap.servers: cannot be set here: a job reads the "
              "cluster of the host's [kafka]; take the key out"});
  CHECK(problems_after_head("consumer.override.rebalance_cb = \"x\"") ==
        Lines{"f:4:1: consumer.override.rebalance_cb: is a function of the client's program: no "
              "text can be one; take the key out"});
}

TEST_CASE("a placeholder in an override is for the worker: it passes unread and unasked",
          "[config]") {
  LoadOptions options;
  options.kafka_property = [](const std::string&, const std::string&) {
    return std::string{"asked"};
  };
  const auto job = parse_job(kJobHead + "consumer.override.sasl.password = \"${credential:p}\"",
                             Format::Toml, "f", options)
                       .value();
  CHECK(job.consumer == Properties{{"sasl.password", "${credential:p}"}});
}

TEST_CASE("an offset reset of librdkafka's words is refused with Connect's", "[config]") {
  CHECK(problems_after_head("consumer.override.auto.offset.reset = \"error\"") ==
        Lines{"f:4:1: consumer.override.auto.offset.reset: must be earliest, latest or none, not "
              "'error'"});
}

}  // namespace sluice::config
