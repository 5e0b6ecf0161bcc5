#include "host/worker/start_parameters.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace sluice::worker {
namespace {

StartParameters full_parameters() {
  StartParameters parameters;
  parameters.job = "orders-archive";
  parameters.execution = 7;
  parameters.slot = 1;
  parameters.incarnation = std::numeric_limits<std::uint64_t>::max() - 1;
  parameters.topics = {{"orders", 2}, {"ord\"ers", 0}};
  parameters.plugins = {
      {PluginKind::Processor,
       "filter",
       "big",
       "/plugins/filter.so",
       std::string(64, 'a'),
       {{"value.size.min", "1000"}}},
      {PluginKind::Sink, "file", "orders-archive", "/plugins/file.so", std::string(64, '0'), {}}};
  parameters.consumer = {{"bootstrap.servers", "b:9092"}, {"a.first", "2"}};
  parameters.producer = {{"acks", "all"}};
  parameters.retry.errors_retry_timeout_ms = 0;
  parameters.tolerance = ErrorsTolerance::All;
  parameters.dead_letters = DeadLetterParameters{"orders-dlq", ContextHeaders::On, 1000, -1};
  parameters.core_files = CoreFiles::On;
  return parameters;
}

/// The encoded parameters with the first `from` replaced by `to`.
std::string with(const std::string& from, const std::string& to) {
  std::string text = encode(full_parameters());
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& bytes) {
  const auto decoded = decode(bytes);
  REQUIRE(decoded.has_error());
  CHECK(decoded.error().code() == ErrorCode::Incompatible);
  return decoded.error().message();
}

}  // namespace

TEST_CASE("start parameters come back as they were, with client properties in order", "[worker]") {
  const StartParameters parameters = full_parameters();
  const auto decoded = decode(encode(parameters));
  REQUIRE(decoded.has_value());
  CHECK(*decoded == parameters);
}

TEST_CASE("a missing errors.retry.timeout stays missing", "[worker]") {
  StartParameters parameters = full_parameters();
  parameters.retry.errors_retry_timeout_ms.reset();
  CHECK(decode(encode(parameters))->retry.errors_retry_timeout_ms == std::nullopt);
}

TEST_CASE("a job without a dead letter topic, or without a rate, stays without", "[worker]") {
  StartParameters parameters = full_parameters();
  parameters.dead_letters->rate_max.reset();
  CHECK(decode(encode(parameters))->dead_letters->rate_max == std::nullopt);
  parameters.dead_letters.reset();
  CHECK(decode(encode(parameters))->dead_letters == std::nullopt);
}

TEST_CASE("start parameters that are cut off at any byte are refused", "[worker]") {
  const std::string text = encode(full_parameters());
  for (std::size_t length = 0; length < text.size(); ++length) {
    CHECK(decode(std::string_view{text}.substr(0, length)).has_error());
  }
  CHECK(decode(text + "{}").has_error());
}

TEST_CASE("start parameters are refused with the path of what is wrong", "[worker]") {
  CHECK(refusal(with("\"format\":2", "\"format\":1")) ==
        "start parameters: format: is out of range");
  CHECK(refusal(with("\"slot\":1,", "")) == "start parameters: slot: is missing");
  CHECK(refusal(with("\"slot\":1,", "\"slot\":\"1\",")) ==
        "start parameters: slot: is not a natural number");
  CHECK(refusal(with("\"slot\":1,", "\"slot\":1.5,")) ==
        "start parameters: slot: is not a natural number");
  CHECK(refusal(with("\"slot\":1,", "\"slot\":-1,")) ==
        "start parameters: slot: is not a natural number");
  CHECK(refusal(with("\"slot\":1,", "\"slot\":4294967296,")) ==
        "start parameters: slot: is out of range");
  CHECK(refusal(with("\"slot\":1,", "\"slot\":1,\"surplus\":0,")) ==
        "start parameters: surplus: is not a known member");
  CHECK(refusal(with("\"job\":\"orders-archive\"", "\"job\":\"\"")) ==
        "start parameters: job: is empty");
  CHECK(refusal(with("\"name\":\"orders\"", "\"name\":3")) ==
        "start parameters: topics[0].name: is not a string");
  CHECK(refusal(with("\"incarnation\":2}", "\"incarnation\":2,\"x\":1}")) ==
        "start parameters: topics[0].x: is not a known member");
  CHECK(refusal(with("/plugins/filter.so", "filter.so")) ==
        "start parameters: plugins[0].file: is not an absolute path");
  CHECK(refusal(with(std::string(64, 'a'), std::string(63, 'a'))) ==
        "start parameters: plugins[0].sha256: is not 64 lower-case hex digits");
  CHECK(refusal(with(std::string(64, 'a'), std::string(64, 'A'))) ==
        "start parameters: plugins[0].sha256: is not 64 lower-case hex digits");
  CHECK(refusal(with("\"kind\":\"processor\"", "\"kind\":\"source\"")) ==
        "start parameters: plugins[0].kind: is neither sink nor processor");
  CHECK(refusal(with("\"kind\":\"processor\"", "\"kind\":\"sink\"")) ==
        "start parameters: plugins[0]: exactly the last plugin must be a sink");
  CHECK(refusal(with("\"value.size.min\":\"1000\"", "\"value.size.min\":1000")) ==
        "start parameters: plugins[0].config.value.size.min: is not a string");
  CHECK(refusal(with("[\"acks\",\"all\"]", "[\"acks\"]")) ==
        "start parameters: producer: has an element that is not a pair of strings");
  CHECK(refusal(with("\"records_max\":1000", "\"records_max\":0")) ==
        "start parameters: batch.records_max: must not be 0");
  CHECK(refusal(with("\"task_retry_timeout_ms\":-1", "\"task_retry_timeout_ms\":-2")) ==
        "start parameters: retry.task_retry_timeout_ms: is out of range");
  CHECK(refusal(with("\"tolerance\":\"all\"", "\"tolerance\":\"some\"")) ==
        "start parameters: tolerance: is neither all nor none");
  CHECK(refusal(with("\"topic\":\"orders-dlq\"", "\"topic\":\"\"")) ==
        "start parameters: dead_letters.topic: is empty");
  CHECK(refusal(with("\"rate_max\":1000", "\"rate_max\":0")) ==
        "start parameters: dead_letters.rate_max: must not be 0");
  CHECK(refusal("[]") == "start parameters: is not an object");
}

TEST_CASE("a chain without plugins, or with more topics than the table holds, is refused",
          "[worker]") {
  StartParameters parameters = full_parameters();
  parameters.topics.assign(1025, {"t", 0});
  CHECK(refusal(encode(parameters)) ==
        "start parameters: topics: has more entries than the topic table");
  parameters = full_parameters();
  parameters.plugins.clear();
  CHECK(refusal(encode(parameters)) == "start parameters: plugins: must have 1 to 64 entries");
}

}  // namespace sluice::worker
