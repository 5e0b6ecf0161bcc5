// A connector that moves from real Kafka Connect to Sluice with the file that configured it there
// (slicer.md S2 to S4). One Connect process for all of it: its start costs more than the rest.
#include <fstream>

#include "broker/kafka_connect.hpp"
#include "broker/real_product.hpp"

namespace sluice::tests {
namespace {

/// How often each line is in the sink's file.
std::map<std::string, int> lines_of(const std::filesystem::path& file) {
  std::map<std::string, int> count;
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) ++count[line];
  return count;
}

bool is_each_once(const std::map<std::string, int>& lines, std::size_t count) {
  return lines.size() == count &&
         std::all_of(lines.begin(), lines.end(), [](const auto& line) { return line.second == 1; });
}

/// A connector of Connect's file sink, in the .properties file that configures it there and here.
class MovingSink : public RealProduct {
 public:
  MovingSink()
      : topic{RealKafka::topic("connect")},
        sentence{"group connect-" + topic +
                 " has active members: stop the Kafka Connect connector first"},
        file{folder().path() / "sink.txt"},
        connector{folder().write(
            "sink.properties",
            "name=" + topic + "\nconnector.class=FileStreamSink\ntasks.max=1\ntopics=" + topic +
                "\nfile=" + file.string() + "\n")} {}

  KafkaConnect start_connect() const {
    return value_of(KafkaConnect::start(SLUICE_KAFKA_LIBS, properties().front().second,
                                        folder().path(), connector, topic));
  }
  bool committed_by_connect(std::int64_t offset) {
    const auto now = committed(topic);
    return now.offset == offset && now.metadata.empty();
  }
  bool committed_by_sluice(std::int64_t offset) {
    const auto now = committed(topic);
    return now.offset == offset && now.metadata.starts_with("sluice/1 ");
  }
  /// The sink has `count` lines, each of them once.
  bool has_each_once(std::size_t count) const { return is_each_once(lines_of(file), count); }

  std::string topic;
  std::string sentence;
  std::filesystem::path file;
  std::filesystem::path connector;
};

/// The same file for sluice run, while the connector runs in Connect: it waits, and delivers
/// nothing. When the connector has stopped it goes on exactly there, by itself.
std::unique_ptr<test::Program> take_over(MovingSink& kafka, const KafkaConnect& connect) {
  auto run = kafka.run(kafka.connector);
  REQUIRE(test::eventually([&] { return run->err().find(kafka.sentence) != std::string::npos; }));
  kafka.fill(kafka.topic, 5);
  REQUIRE(test::eventually([&] { return kafka.committed_by_connect(45); }, kGiveUp));
  CHECK(run->running());
  CHECK(kafka.has_each_once(45));
  ok(connect.stop(kafka.topic));
  kafka.fill(kafka.topic, 30);
  INFO(run->err());
  REQUIRE(test::eventually([&] { return kafka.committed_by_sluice(75); }, kGiveUp));
  CHECK(run->err().find("starts at 45 (group)") != std::string::npos);
  CHECK(kafka.has_each_once(75));
  return run;
}

/// The connector comes back at run time: all of the job halts, and nothing more is committed by it,
/// also when the group is free again. Returns where Connect has left the group.
std::int64_t collide(MovingSink& kafka, KafkaConnect& connect, test::Program& run) {
  ok(connect.resume(kafka.topic));
  const auto is_halted = [&] {
    kafka.fill(kafka.topic, 1);
    return run.err().find(kafka.topic + "-0 halted at offset ") != std::string::npos;
  };
  REQUIRE(test::eventually(is_halted, kGiveUp));
  const auto end = kafka.offset(kafka.topic, kafka::LogPoint::latest());
  REQUIRE(test::eventually([&] { return kafka.committed_by_connect(end); }, kGiveUp));
  CHECK(run.err().find(kafka.sentence + "; the job halts") != std::string::npos);
  CHECK(run.running());
  const auto lines = lines_of(kafka.file);
  CHECK(connect.terminate() != -1);
  kafka.fill(kafka.topic, 10);
  const auto status = "1 partitions halted; waiting: " + kafka.sentence;
  REQUIRE(test::eventually([&] { return run.err().find(status) != std::string::npos; }));
  CHECK(run.stop() == 0);
  CHECK(kafka.committed_by_connect(end));
  CHECK(lines_of(kafka.file) == lines);
  return end;
}

}  // namespace

TEST_CASE("a Connect sink moves to sluice run exactly once, and both never work at once (S2 to S4)",
          "[broker][connect]") {
  MovingSink kafka;
  kafka.fill(kafka.topic, 40);
  auto connect = kafka.start_connect();
  REQUIRE(test::eventually([&] { return kafka.committed_by_connect(40); }, kGiveUp));
  REQUIRE(kafka.has_each_once(40));
  const auto run = take_over(kafka, connect);
  INFO(run->err());
  const auto end = collide(kafka, connect, *run);

  // The next start finds an offset that somebody else moved: --from group goes on behind Connect.
  const auto before = lines_of(kafka.file).size();
  const auto next = kafka.run(kafka.connector, {"--once", "--from", "group"});
  REQUIRE(next->wait() == 0);
  CHECK(kafka.committed_by_sluice(end + 10));
  CHECK(lines_of(kafka.file).size() == before + 10);
}

}  // namespace sluice::tests
