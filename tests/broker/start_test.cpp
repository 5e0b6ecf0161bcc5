// Where a job starts on a real broker, and when it refuses to: store and group contradict each
// other in each way that slicer.md S4 names, and `--from` decides.
#include "broker/log_shapes.hpp"
#include "broker/real_product.hpp"

namespace sluice::tests {
namespace {

constexpr int kExitConfiguration = 78;

bool says(const test::Program& run, const std::string& text) {
  return run.err().find(text) != std::string::npos;
}

int count_of(const std::string& text, const std::string& word) {
  int count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

/// A once job into the ledger, whose topic has ten records that it has delivered.
class DeliveredTen : public RealProduct {
 public:
  explicit DeliveredTen(const std::string& name) : topic{RealKafka::topic(name)} {
    fill(topic, 10);
    file = ledger_job(topic, "mode = \"once\"\n");
    const auto first = run(file);
    if (first->wait() != 0) FAIL(first->err());
    REQUIRE(all_once(10));
    REQUIRE(committed(topic).offset == 10);
  }

  /// Exit code of `sluice run`, with `--from FROM` unless it is empty; what it said is in `said`.
  int run_from(const std::string& from) {
    std::vector<std::string> words;
    if (!from.empty()) words = {"--from", from};
    const auto again = run(file, words);
    const int code = again->wait();
    said = again->err();
    UNSCOPED_INFO("--from '" << from << "': " << said);
    return code;
  }
  bool was_said(const std::string& text) const { return said.find(text) != std::string::npos; }
  void lose_store() { std::filesystem::remove_all(state_dir()); }

  std::string topic;
  std::filesystem::path file;
  std::string said;
};

}  // namespace

TEST_CASE("a group ahead of an open transaction, as Kafka Connect reads, is no new topic (S2, F5)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.RealKafka::topic("ahead");
  const auto producer = kafka.producer({}, {.transactional_id = topic});
  transaction(*producer, topic, 10, true);
  await_end(kafka, topic, 11);
  ok(producer->begin(kTimeoutMs));
  for (int i = 0; i < 10; ++i) send(*producer, topic, "k", "open");
  ok(producer->flush(kTimeoutMs));
  kafka.move_group(topic, 21);
  const auto run = kafka.run(kafka.ledger_job(topic, ""));
  REQUIRE(test::eventually([&] { return says(*run, topic + "-0 starts at 21 (group)"); }));
  // Longer than a log must look too short before it is believed to be (F5).
  CHECK_FALSE(test::eventually([&] { return !kafka.ledger().empty(); }, std::chrono::seconds{8}));
  CHECK_FALSE(says(*run, "deleted and created again"));
  CHECK(says(*run, "an open transaction hides"));
  CHECK(kafka.sluice_job({"show", topic})
            .out.find("waiting: kafka: " + topic + "-0: an open transaction hides") !=
        std::string::npos);
  ok(producer->commit(kTimeoutMs));
  kafka.fill(topic, 3);
  REQUIRE(test::eventually([&] { return kafka.times().size() == 3; }));
  CHECK(kafka.times().begin()->first == 22);
  CHECK(run->stop() == 0);
}

TEST_CASE("a lost store refuses to start with exit 78, naming --from, and group goes on (S4)",
          "[broker]") {
  DeliveredTen job{"lost"};
  job.lose_store();
  job.fill(job.topic, 5);
  CHECK(job.run_from("") == kExitConfiguration);
  CHECK(job.was_said("cannot start " + job.topic + "-0: its offset 10 in group connect-" +
                     job.topic + " was committed by another state store"));
  CHECK(job.was_said("--from frontier|group|earliest|latest"));
  CHECK(job.run_from("frontier") == kExitConfiguration);
  CHECK(job.was_said("the state store has no frontier for it"));
  CHECK(job.all_once(10));
  REQUIRE(job.run_from("group") == 0);
  CHECK(job.all_once(15));
  // The store is the group's now: nothing is asked any more.
  CHECK(job.run_from("") == 0);
  CHECK(job.all_once(15));
}

TEST_CASE("with a lost store --from latest delivers nothing old, --from earliest everything (S4)",
          "[broker]") {
  DeliveredTen job{"lost-ends"};
  job.lose_store();
  REQUIRE(job.run_from("latest") == 0);
  CHECK(job.all_once(10));
  CHECK(job.committed(job.topic).offset == 10);
  job.lose_store();
  REQUIRE(job.run_from("earliest") == 0);
  const auto times = job.times();
  CHECK(times.size() == 10);
  for (const auto& [offset, delivered] : times) CHECK(delivered == 2);
}

TEST_CASE("a store restored from a backup is refused until --from frontier or group (S4)",
          "[broker]") {
  DeliveredTen job{"restored"};
  const auto backup = job.folder().path() / "backup";
  const auto restore = [&] {
    job.lose_store();
    std::filesystem::copy(backup, job.state_dir(), std::filesystem::copy_options::recursive);
  };
  std::filesystem::copy(job.state_dir(), backup, std::filesystem::copy_options::recursive);
  job.fill(job.topic, 5);
  REQUIRE(job.run_from("") == 0);
  restore();
  CHECK(job.run_from("") == kExitConfiguration);
  CHECK(
      job.was_said("this state store committed offset 15 for it but now knows only 10: the "
                   "store was restored from a backup"));
  CHECK(job.was_said("--from frontier|group`"));
  CHECK(job.all_once(15));
  REQUIRE(job.run_from("group") == 0);
  CHECK(job.all_once(15));
  restore();
  REQUIRE(job.run_from("frontier") == 0);
  for (const auto& [offset, delivered] : job.times()) CHECK(delivered == (offset < 10 ? 1 : 2));
}

TEST_CASE("an offset that a tool moved: the frontier holds with one warning, group adopts it (S4)",
          "[broker]") {
  DeliveredTen job{"moved"};
  job.move_group(job.topic, 3);
  job.fill(job.topic, 2);
  REQUIRE(job.run_from("") == 0);
  CHECK(count_of(job.said, "moved by another tool; going on at the frontier 10") == 1);
  CHECK(job.all_once(12));
  CHECK(job.committed(job.topic).offset == 12);
  CHECK(job.run_from("") == 0);
  CHECK_FALSE(job.was_said("moved by another tool"));
  job.move_group(job.topic, 3);
  REQUIRE(job.run_from("group") == 0);
  for (const auto& [offset, delivered] : job.times()) CHECK(delivered == (offset < 3 ? 1 : 2));
  CHECK(job.committed(job.topic).offset == 12);
}

TEST_CASE("an offset without our metadata and no store: the job starts there (S4, migration)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("migrated");
  kafka.fill(topic, 10);
  kafka.move_group(topic, 4);
  const auto run = kafka.run(kafka.ledger_job(topic, "mode = \"once\"\n"));
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  const auto times = kafka.times();
  CHECK(times.size() == 6);
  CHECK(times.begin()->first == 4);
  CHECK(kafka.committed(topic).offset == 10);
  CHECK(kafka.committed(topic).metadata.starts_with("sluice/1 "));
}

TEST_CASE("with auto.offset.reset none a job without a position is refused with exit 78 (S2)",
          "[broker]") {
  RealProduct kafka;
  const auto topic = kafka.topic("none");
  kafka.fill(topic, 3);
  const auto job =
      kafka.ledger_job(topic, "mode = \"once\"\nconsumer.override.auto.offset.reset = \"none\"\n");
  const auto refused = kafka.run(job);
  CHECK(refused->wait() == kExitConfiguration);
  CHECK(says(*refused, "auto.offset.reset is none"));
  CHECK(kafka.ledger().empty());
  const auto told = kafka.run(job, {"--from", "earliest"});
  INFO(told->err());
  REQUIRE(told->wait() == 0);
  CHECK(kafka.all_once(3));
}

}  // namespace sluice::tests
