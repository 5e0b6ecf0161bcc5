#include <unistd.h>

#include <catch2/catch.hpp>

#include "unit/plugins/read_back.hpp"
#include "unit/sdk/plugin_harness.hpp"
#include "unit/temporary_folder.hpp"

using namespace sluice::test;
using sluice::TemporaryFolder;

TEST_CASE("a ledger line says what came, where from, who wrote it", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "ledger";
  PluginHarness sink{PluginHarness::load("ledger_sink.so"), {{"file", path}}};
  sink.host.attempt = 2;
  sink.set_next_offset(40, 3);
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(
      sink.put(
          {{"k", std::nullopt, {{"n", std::nullopt}, {"n", ""}}, 7, SLUICE_TIMESTAMP_LOG_APPEND}},
          3) == SLUICE_OK);
  REQUIRE(sink.flush() == SLUICE_OK);
  REQUIRE(read_file(path) ==
          "{\"topic\":\"orders\",\"partition\":3,\"offset\":40,\"timestamp\":7,"
          "\"timestamp_type\":\"log_append\",\"key\":\"aw==\",\"value\":null,"
          "\"headers\":[[\"n\",null],[\"n\",\"\"]],\"pid\":" +
              std::to_string(::getpid()) + ",\"slice\":1,\"start\":40,\"end\":41,\"attempt\":2}\n");
}

TEST_CASE("B09 in the ledger: null and empty differ, order, repeats and bytes are kept",
          "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "ledger";
  const auto records = b09_records();
  PluginHarness sink{PluginHarness::load("ledger_sink.so"), {{"file", path}}};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put(records) == SLUICE_OK);
  const auto lines = lines_of(read_file(path));
  REQUIRE(lines.size() == records.size());
  const auto bytes = [](const boost::json::value& value) -> OptionalText {
    return value.is_null() ? OptionalText{} : decode_base64(value.as_string());
  };
  for (std::size_t index = 0; index < records.size(); ++index) {
    const boost::json::value line = boost::json::parse(lines[index]);
    REQUIRE(bytes(line.at("key")) == records[index].key);
    REQUIRE(bytes(line.at("value")) == records[index].value);
    std::vector<std::pair<std::string, OptionalText>> headers;
    for (const auto& header : line.at("headers").as_array()) {
      headers.emplace_back(header.as_array()[0].as_string(), bytes(header.as_array()[1]));
    }
    REQUIRE(headers == records[index].headers);
  }
}
