#include <catch2/catch.hpp>
#include <filesystem>

#include "unit/plugins/read_back.hpp"
#include "unit/sdk/plugin_harness.hpp"
#include "unit/temporary_folder.hpp"

using namespace sluice::test;
using sluice::TemporaryFolder;

namespace {

sluice::worker::PluginChoice choice() {
  return PluginHarness::load("file_sink.so");
}

/// What the sink writes for these records.
std::string written(const std::vector<TestRecord>& records, const PluginHarness::Config& config) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  PluginHarness::Config with_file = config;
  with_file["file"] = path;
  PluginHarness sink{choice(), with_file};
  sink.set_next_offset(100);
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put(records) == SLUICE_OK);
  REQUIRE(sink.flush() == SLUICE_OK);
  return read_file(path);
}

}  // namespace

TEST_CASE("json is one object a line, in the documented order", "[plugins]") {
  REQUIRE(written({{"k", "v", {{"n", "x"}}}, {std::nullopt, ""}}, {}) ==
          "{\"topic\":\"orders\",\"partition\":0,\"offset\":100,\"timestamp\":1700000000123,"
          "\"key\":\"k\",\"value\":\"v\",\"headers\":[[\"n\",\"x\"]]}\n"
          "{\"topic\":\"orders\",\"partition\":0,\"offset\":101,\"timestamp\":1700000000123,"
          "\"key\":null,\"value\":\"\",\"headers\":[]}\n");
}

TEST_CASE("bytes that are not UTF-8 are base64 under another name", "[plugins]") {
  using namespace std::string_literals;
  REQUIRE(written({{"\xff\x00\xfe"s, "\xff", {{"n", "\xff"}, {"\xfe", "v"}}, 5}}, {}) ==
          "{\"topic\":\"orders\",\"partition\":0,\"offset\":100,\"timestamp\":5,"
          "\"key_base64\":\"/wD+\",\"value_base64\":\"/w==\","
          "\"headers\":[[\"n\",{\"base64\":\"/w==\"}],[{\"base64\":\"/g==\"},\"v\"]]}\n");
}

TEST_CASE("a record without timestamp has null", "[plugins]") {
  const TestRecord record{"k", "v", {}, -1, SLUICE_TIMESTAMP_NONE};
  REQUIRE(written({record}, {}).find("\"timestamp\":null,") != std::string::npos);
  REQUIRE(written({record}, {{"format", "text"}}) == "orders\t0\t100\t\\N\tk\tv\t[]\n");
}

TEST_CASE("B09 as json: ten records are ten lines and the same bytes", "[plugins]") {
  const auto records = b09_records();
  const auto lines = lines_of(written(records, {}));
  REQUIRE(lines.size() == records.size());
  for (std::size_t index = 0; index < records.size(); ++index) {
    CAPTURE(lines[index]);
    const boost::json::value value = boost::json::parse(lines[index]);
    REQUIRE(decode_field(value.as_object(), "key") == records[index].key);
    REQUIRE(decode_field(value.as_object(), "value") == records[index].value);
    REQUIRE(decode_headers(value.at("headers")) == records[index].headers);
    REQUIRE(value.at("offset").as_int64() == 100 + static_cast<std::int64_t>(index));
  }
}

TEST_CASE("B09 as text: ten records are ten lines and the same bytes", "[plugins]") {
  const auto records = b09_records();
  const auto lines = lines_of(written(records, {{"format", "text"}}));
  REQUIRE(lines.size() == records.size());
  for (std::size_t index = 0; index < records.size(); ++index) {
    CAPTURE(lines[index]);
    std::vector<std::string> fields;
    std::stringstream rest{lines[index]};
    for (std::string field; std::getline(rest, field, '\t');) {
      fields.push_back(field);
    }
    REQUIRE(fields.size() == 7);
    REQUIRE(decode_copy(fields[4]) == records[index].key);
    REQUIRE(decode_copy(fields[5]) == records[index].value);
    REQUIRE(decode_headers(boost::json::parse(*decode_copy(fields[6]))) == records[index].headers);
  }
}

TEST_CASE("raw is the value and a line feed", "[plugins]") {
  REQUIRE(written({{"k", "one"}, {"k", "\xff\r"}, {"k", ""}, {"k", std::nullopt}},
                  {{"format", "raw"}}) == "one\n\xff\r\n\n\n");
}

TEST_CASE("a value with a line feed is an errant record in raw, and the others go on",
          "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  PluginHarness sink{choice(), {{"file", path}, {"format", "raw"}}};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "one"}, {"k", "two\n"}, {"k", "three"}}) == SLUICE_OK);
  REQUIRE(sink.host.failed.size() == 1);
  REQUIRE(sink.host.failed.count({1, 1}) == 1);
  REQUIRE(sink.put({{"k", "\n"}}) == SLUICE_OK);  // nothing is left to append
  REQUIRE(read_file(path) == "one\nthree\n");
}

TEST_CASE("Kafka Connect's names of the file sink write raw values", "[plugins]") {
  for (const char* alias :
       {"FileStreamSink", "org.apache.kafka.connect.file.FileStreamSinkConnector"}) {
    const TemporaryFolder folder;
    const std::string path = folder.path() / "lines";
    PluginHarness sink{PluginHarness::load("file_sink.so", alias), {{"file", path}}};
    REQUIRE(sink.start() == SLUICE_OK);
    REQUIRE(sink.put({{"k", "v"}}) == SLUICE_OK);
    REQUIRE(read_file(path) == "v\n");
  }
}

TEST_CASE("each partition has its file where the path says so", "[plugins]") {
  const TemporaryFolder folder;
  PluginHarness sink{
      choice(), {{"file", folder.path().string() + "/{topic}/{partition}"}, {"format", "raw"}}};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "zero"}}, 0) == SLUICE_OK);
  REQUIRE(sink.put({{"k", "one"}}, 1) == SLUICE_OK);
  REQUIRE(sink.flush() == SLUICE_OK);
  REQUIRE(read_file(folder.path() / "orders" / "0") == "zero\n");
  REQUIRE(read_file(folder.path() / "orders" / "1") == "one\n");
}

TEST_CASE("a topic named like the folder above stays inside", "[plugins]") {
  const TemporaryFolder folder;
  PluginHarness sink{choice(), {{"file", folder.path().string() + "/in/{topic}/lines"}}};
  sink.host.topic = "..";
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "v"}}) == SLUICE_OK);
  REQUIRE(std::filesystem::exists(folder.path() / "in" / "%2E%2E" / "lines"));
  REQUIRE_FALSE(std::filesystem::exists(folder.path() / "lines"));
}

// Case B15.
TEST_CASE("what a killed worker left unfinished is cut off, and said", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("lines", "whole\nhal");
  PluginHarness sink{choice(), {{"file", path}, {"format", "raw"}}};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put({{"k", "next"}}) == SLUICE_OK);
  REQUIRE(read_file(path) == "whole\nnext\n");
  REQUIRE(sink.host.lines.size() == 1);
  REQUIRE(sink.host.lines[0].first == SLUICE_LOG_WARNING);
  REQUIRE(sink.host.lines[0].second.find("3 bytes") != std::string::npos);
}

TEST_CASE("a path that cannot be written stops the job and names the key", "[plugins]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  PluginHarness sink{choice(), {{"file", file + "/lines"}}};
  REQUIRE(sink.start() == SLUICE_CONFIG);
  REQUIRE(sink.host.error.key == "file");
  REQUIRE(sink.host.error.message.find(file) != std::string::npos);
}

TEST_CASE("validate refuses a path that is none without touching the disk", "[plugins]") {
  REQUIRE(PluginHarness::problems(choice(), {{"file", "/nowhere/{topic}"}}).empty());
  REQUIRE(PluginHarness::problems(choice(), {{"file", "/out/{date}"}}) ==
          "file: has a brace that is neither {topic} nor {partition}");
  REQUIRE(PluginHarness::problems(choice(), {}).find("file: is required") == 0);
  REQUIRE(PluginHarness::problems(choice(), {{"file", "/x"}, {"format", "csv"}}) ==
          "format: must be one of json, text, raw");
}

TEST_CASE("an empty batch makes no file", "[plugins]") {
  const TemporaryFolder folder;
  PluginHarness sink{choice(), {{"file", folder.path().string() + "/{topic}"}}};
  REQUIRE(sink.start() == SLUICE_OK);
  REQUIRE(sink.put(std::vector<TestRecord>{}) == SLUICE_OK);
  REQUIRE(std::filesystem::is_empty(folder.path()));
}
