// The road from a job file to librdkafka's own opinion of a property, as the host lays it:
// LoadOptions::kafka_property = kafka::property_refusal.
#include <catch2/catch.hpp>

#include "config_text.hpp"
#include "host/kafka/property_check.hpp"

namespace sluice::config {
namespace {

Lines problems_with_librdkafka(const std::string& lines) {
  LoadOptions options;
  options.kafka_property = kafka::property_refusal;
  const auto job = parse_job(kJobHead + lines, Format::Toml, "f", options);
  return job ? Lines{} : lines_of(job.error());
}

}  // namespace

TEST_CASE("a property that librdkafka knows is taken, under either name", "[config]") {
  CHECK(problems_with_librdkafka("consumer.override.fetch.min.bytes = 7\n"
                                 "consumer.override.fetch.max.wait.ms = 100")
            .empty());
}

TEST_CASE("a property that librdkafka does not know is refused with the nearest", "[config]") {
  CHECK(problems_with_librdkafka("consumer.override.fetch.min.byte = 7") ==
        Lines{"f:4:1: consumer.override.fetch.min.byte: librdkafka has no such property; did you "
              "mean fetch.min.bytes?"});
  CHECK(problems_with_librdkafka("consumer.override.xyzzyxyzzy = 7") ==
        Lines{"f:4:1: consumer.override.xyzzyxyzzy: librdkafka has no such property; take the key "
              "out"});
}

TEST_CASE("a value that librdkafka refuses is refused without showing it", "[config]") {
  CHECK(problems_with_librdkafka("consumer.override.fetch.min.bytes = \"s3cret\"") ==
        Lines{"f:4:1: consumer.override.fetch.min.bytes: librdkafka refuses this value; see its "
              "CONFIGURATION.md for the ones it takes"});
}

}  // namespace sluice::config
