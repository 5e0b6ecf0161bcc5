// Records on their way from a (mock) broker through a real worker process into files.
#include <catch2/catch.hpp>
#include <set>

#include "integration/worker/mock_topic.hpp"
#include "ipc/failure_text.hpp"

namespace sluice::integration {

using ipc::ReportKind;
using rig::RunningWorker;

namespace {

std::multiset<std::string> coordinates(const MockTopic& topic) {
  std::multiset<std::string> all;
  for (const auto& line : topic.lines()) {
    all.insert(std::to_string(line.at("partition").as_int64()) + "@" +
               std::to_string(line.at("offset").as_int64()));
  }
  return all;
}

std::string failure_of(const RunningWorker& worker, std::uint64_t slice_id) {
  const auto* failed = worker.find(ReportKind::Failed, slice_id);
  REQUIRE(failed != nullptr);
  return ipc::decode_failure_text(failed->text).message;
}

}  // namespace

TEST_CASE("slices of several partitions are done, each record delivered once, and STOP exits 0",
          "[mock]") {
  MockTopic topic{3};
  for (int partition = 0; partition < 3; ++partition) topic.produce(partition, 1000);
  topic.flush();
  RunningWorker worker{topic.parameters("ledger")};
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Ready) == 1; }));
  std::uint64_t id = 0;
  for (int start = 0; start < 1000; start += 100) {
    for (int partition = 0; partition < 3; ++partition) {
      worker.order({.id = ++id, .partition = partition, .start = start, .end = start + 100});
    }
  }
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 30; }));
  worker.stop();
  REQUIRE(worker.wait_for_exit());
  CHECK(worker.exit->status == supervisor::ExitStatus{});
  const auto delivered = coordinates(topic);
  CHECK(delivered.size() == 3000);
  CHECK(std::set<std::string>{delivered.begin(), delivered.end()}.size() == 3000);
  CHECK(worker.output.empty());
}

TEST_CASE("records that come while a worker waits are seen, and their slices done", "[mock]") {
  MockTopic topic{1};
  topic.produce(0, 1);
  topic.flush();
  RunningWorker worker{topic.parameters("ledger")};
  worker.order({.id = 1, .start = 0, .end = 1});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  topic.produce(0, 5);
  topic.flush();
  const auto is_seen = [&] {
    return !worker.reports.empty() &&
           worker.reports.back().report.kind == static_cast<std::uint16_t>(ReportKind::Seen) &&
           worker.reports.back().report.next_offset == 6;
  };
  REQUIRE(worker.wait_until(is_seen));
  worker.order({.id = 2, .start = 1, .end = 6});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 2; }));
  CHECK(coordinates(topic).size() == 6);
}

TEST_CASE("B01 a slice whose records are gone from the log is EXPIRED and delivers nothing",
          "[mock]") {
  MockTopic topic{1};
  topic.produce(0, 3);
  topic.produce(0, std::vector<std::string>(12, std::string(999'400, 'x')));
  topic.flush();  // the mock keeps 5 MiB: offsets 0..9 are gone
  RunningWorker worker{topic.parameters("ledger")};
  worker.order({.id = 1, .start = 3, .end = 10});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Expired) == 1; }));
  worker.order({.id = 2, .start = 10, .end = 15, .fence = 2});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  CHECK(coordinates(topic) == std::multiset<std::string>{"0@10", "0@11", "0@12", "0@13", "0@14"});
}

TEST_CASE("B07 a slice waits while no broker answers, says so, and is done when one comes back",
          "[mock]") {
  MockTopic topic{1};
  topic.produce(0, 10);
  topic.flush();
  RunningWorker worker{topic.parameters("ledger")};
  worker.order({.id = 1, .start = 0, .end = 10});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  REQUIRE(topic.cluster().set_down(1).has_value());
  worker.order({.id = 2, .start = 10, .end = 20});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Waiting) >= 1; }));
  CHECK_THAT(ipc::decode_failure_text(worker.find(ReportKind::Waiting, 2)->text).message,
             Catch::StartsWith("no record of orders-0 from offset 10 on"));
  REQUIRE(topic.cluster().set_up(1).has_value());
  topic.produce(0, 10);
  topic.flush();
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 2; }));
  CHECK(coordinates(topic).size() == 20);
}

TEST_CASE("B07 a slice goes on after its partition's leader has moved", "[mock]") {
  MockTopic topic{1, 2};
  REQUIRE(topic.cluster().set_leader("orders", 0, 1).has_value());
  topic.produce(0, 10);
  topic.flush();
  RunningWorker worker{topic.parameters("ledger")};
  worker.order({.id = 1, .start = 0, .end = 20});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Opened) == 1; }));
  REQUIRE(topic.cluster().set_leader("orders", 0, 2).has_value());
  topic.produce(0, 10);
  topic.flush();
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  CHECK(coordinates(topic).size() == 20);
}

TEST_CASE("B09 null, empty, repeats and bytes that are no text reach the ledger as they are",
          "[mock]") {
  MockTopic topic{1};
  const auto text = [](const char* bytes, std::size_t size) { return sluice_bytes{bytes, size}; };
  const sluice_bytes null{nullptr, 0};
  const auto record = [&](sluice_bytes key, sluice_bytes value,
                          std::vector<sluice_header> headers = {}) {
    topic.produce({.key = key, .value = value, .partition = 0, .headers = headers});
  };
  record(null, null);
  record(text("", 0), text("", 0));
  record(text("k", 1), null);
  record(null, text("v", 1), {{text("h", 1), null}});
  record(null, text("v", 1), {{text("h", 1), text("", 0)}});
  record(null, text("v", 1), {{text("h", 1), text("1", 1)}, {text("h", 1), text("2", 1)}});
  record(text("\xff\x00\xfe", 3), text("v", 1));
  record(null, text("a\nb\rc\"d\0e", 9));
  record(null, text("v", 1), {{text("\xc3\xa4", 2), text("1", 1)}});
  record(null, text("v", 1), {{text("__connect.errors.topic", 22), text("mine", 4)}});
  topic.flush();
  RunningWorker worker{topic.parameters("ledger")};
  worker.order({.id = 1, .start = 0, .end = 10});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  const auto lines = topic.lines();
  REQUIRE(lines.size() == 10);
  CHECK(lines[0].at("key").is_null());
  CHECK(lines[0].at("value").is_null());
  CHECK(lines[1].at("key") == "");
  CHECK(lines[1].at("value") == "");
  CHECK(lines[2].at("key") == "aw==");
  CHECK(lines[2].at("value").is_null());
  CHECK(lines[3].at("headers").at(0).at(1).is_null());
  CHECK(lines[4].at("headers").at(0).at(1) == "");
  CHECK(lines[5].at("headers").as_array().size() == 2);
  CHECK(lines[5].at("headers").at(1).at(1) == "Mg==");
  CHECK(lines[6].at("key") == "/wD+");
  CHECK(lines[7].at("value") == "YQpiDWMiZABl");
  CHECK(lines[9].at("headers").at(0).at(0) == "__connect.errors.topic");
}

TEST_CASE("B11 a large record arrives whole between two small ones", "[mock]") {
  MockTopic topic{1};
  const std::string large(900'000, 'x');
  topic.produce(0, {"small", large, "small"});
  topic.flush();
  RunningWorker worker{topic.parameters("file")};
  worker.order({.id = 1, .start = 0, .end = 3});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  const auto lines = topic.lines();
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].at("value").as_string() == large);
}

TEST_CASE("B12 without tolerance one bad record fails its slice, naming the offset, and no other",
          "[mock]") {
  MockTopic topic{1};
  topic.produce(0, 150);
  topic.produce(0, {"bad:not wanted"});
  topic.produce(0, 149);
  topic.flush();
  RunningWorker worker{topic.parameters("fault")};
  worker.order({.id = 1, .start = 0, .end = 100});
  worker.order({.id = 2, .start = 100, .end = 200});
  worker.order({.id = 3, .start = 200, .end = 300});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Released) == 1; }));
  CHECK(worker.count(ReportKind::Done) == 1);
  CHECK(failure_of(worker, 2) == "record orders-0@150: not wanted");
}

TEST_CASE("B12 a batch that is retried is delivered once, also by a sink that buffers", "[mock]") {
  MockTopic topic{1};
  topic.produce(0, {"one", "again:2", "three"});
  topic.flush();
  RunningWorker worker{topic.parameters("fault", {{"buffer", "true"}})};
  worker.order({.id = 1, .start = 0, .end = 3});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  CHECK(coordinates(topic) == std::multiset<std::string>{"0@0", "0@1", "0@2"});
}

TEST_CASE("a filter in front of the sink keeps what it should and counts the rest", "[mock]") {
  MockTopic topic{1};
  topic.produce(0, {"keep 1", "drop", "keep 2", "drop"});
  topic.flush();
  auto parameters = topic.parameters("ledger");
  parameters.plugins.insert(parameters.plugins.begin(),
                            rig::plugin_of(worker::PluginKind::Processor, "filter",
                                           "filter_processor.so", {{"value.regex", "^keep"}}));
  RunningWorker worker{std::move(parameters)};
  worker.order({.id = 1, .start = 0, .end = 4});
  REQUIRE(worker.wait_until([&] { return worker.count(ReportKind::Done) == 1; }));
  const ipc::Report& report = worker.find(ReportKind::Done, 1)->report;
  CHECK(report.records == 4);
  CHECK(report.out == 2);
  CHECK(report.filtered == 2);
  CHECK(coordinates(topic) == std::multiset<std::string>{"0@0", "0@2"});
}

}  // namespace sluice::integration
