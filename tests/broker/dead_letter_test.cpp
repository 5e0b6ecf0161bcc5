// B14 on a real broker: a dead letter topic that cannot be, that is created, that is too narrow.
#include "broker/real_kafka.hpp"
#include "integration/host/program.hpp"
#include "rig/topic_reader.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::tests {
namespace {

class DeadLetterJob {
 public:
  DeadLetterJob() : topic_{kafka.topic("orders")}, dlq{topic_ + "-dlq"} {}

  void produce(const std::string& value) {
    const auto producer = kafka.producer();
    send(*producer, topic_, "k", value);
    ok(producer->flush(kTimeoutMs));
  }

  /// `sluice run` of a once job whose sink says what to do by value; the exit code.
  int run(const std::string& more) {
    const auto job = folder_.write(
        "job.toml", "name = \"" + topic_ + "\"\nmode = \"once\"\nconnector.class = \"fault\"\n" +
                        "topics = [\"" + topic_ + "\"]\nfile = \"" +
                        (folder_.path() / "out.jsonl").string() +
                        "\"\nerrors.tolerance = \"all\"\n" +
                        "errors.deadletterqueue.context.headers.enable = true\n" +
                        "errors.deadletterqueue.topic.name = \"" + dlq + "\"\n" + more);
    test::Program program{{SLUICE_BIN_DIR "/sluice", "run", job.string(), "--bootstrap-servers",
                           kafka.properties().front().second, "--state-dir",
                           (folder_.path() / "state").string(), "--json"},
                          folder_.path() / "run"};
    const int code = program.wait();
    said = program.err();
    return code;
  }

  std::vector<rig::ReadRecord> letters() {
    return rig::read_topic(kafka.properties().front().second, dlq);
  }

  RealKafka kafka;

 private:
  std::string topic_;
  TemporaryFolder folder_;

 public:
  std::string dlq;
  std::string said;
};

}  // namespace

TEST_CASE("B14 a real cluster too small for the dead letter topic's replicas refuses the job",
          "[broker]") {
  DeadLetterJob job;
  job.produce("bad");
  CHECK(job.run({}) == 78);
  INFO(job.said);
  CHECK(job.said.find("the cluster has 1 broker, too few for "
                      "errors.deadletterqueue.topic.replication.factor = 3") != std::string::npos);
}

TEST_CASE("B14 a missing dead letter topic is created with one partition, and holds the letter",
          "[broker]") {
  DeadLetterJob job;
  job.produce("fine");
  job.produce("bad:not wanted");
  CHECK(job.run("errors.deadletterqueue.topic.replication.factor = 1\n") == 0);
  INFO(job.said);
  const auto topics = value_of(job.kafka.host()->describe_topics({&job.dlq, 1}, kTimeoutMs));
  CHECK(topics[0].partitions.size() == 1);
  const auto letters = job.letters();
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].value == "bad:not wanted");
  CHECK(letters[0].header("__connect.errors.offset") == "1");
}

TEST_CASE("B14 a record that fills the dead letter topic's limit is written with less context",
          "[broker]") {
  DeadLetterJob job;
  // A record set of one record has some 70 bytes around it; Connect's headers take more than 400.
  ok(job.kafka.admin->create_topic(job.dlq, 1, {{"max.message.bytes", "1200"}}, kTimeoutMs));
  const std::string bad = "bad:" + std::string(1000, 'x');
  job.produce(bad);
  CHECK(job.run({}) == 0);
  INFO(job.said);
  const auto letters = job.letters();
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].value == bad);
  CHECK(letters[0].headers.empty());
  CHECK(job.said.find("was too large; written without the host's headers") != std::string::npos);
}

TEST_CASE("B14 a record above the dead letter topic's limit stops the partition, saying so",
          "[broker]") {
  DeadLetterJob job;
  ok(job.kafka.admin->create_topic(job.dlq, 1, {{"max.message.bytes", "1000"}}, kTimeoutMs));
  job.produce("bad:" + std::string(1000, 'x'));
  CHECK(job.run("errors.retry.timeout = 0\nslice.attempts.max = 2\n") == 1);
  INFO(job.said);
  CHECK(job.said.find("its dead letter cannot be written") != std::string::npos);
  CHECK(job.letters().empty());
}

}  // namespace sluice::tests
