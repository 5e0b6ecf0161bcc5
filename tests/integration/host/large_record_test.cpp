// B11: a record far above the others arrives whole, or the job says what stops it and fails; it is
// neither skipped nor waited for in silence. On the mock cluster, whose log holds 5 MiB.
#include <sys/resource.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "integration/host/job_fixture.hpp"

namespace sluice::test {
namespace {

constexpr std::size_t kLarge = 3'000'000;
constexpr char kRawJob[] =
    "mode = \"once\"\nconnector.class = \"FileStreamSink\"\ntopics = [\"orders\"]\n";
constexpr char kLowLimits[] =
    "consumer.override.message.max.bytes = 900000\n"
    "consumer.override.max.partition.fetch.bytes = 900000\n"
    "consumer.override.fetch.max.bytes = 900000\n"
    "consumer.override.receive.message.max.bytes = 1000000\n";

/// No two stretches of it are alike, and it has no line feed.
std::string large_value() {
  std::string value(kLarge, '\0');
  for (std::size_t i = 0; i < kLarge; ++i)
    value[i] = static_cast<char>('a' + (i * 7 + i / 997) % 26);
  return value;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream in{file, std::ios::binary};
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

/// A small record, the large one and a small one.
void fill(JobFixture& kafka, const std::string& large) {
  kafka.topic("orders", 1);
  for (const auto& value : {std::string{"small"}, large, std::string{"small too"}}) {
    kafka.produce_value("orders", 0, value);
  }
}

/// User and system time of all processes that the test has started and that have ended, theirs too.
std::chrono::milliseconds cpu_of_ended() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return std::chrono::duration_cast<std::chrono::milliseconds>(of(used.ru_utime) +
                                                               of(used.ru_stime));
}

/// The same of a living process, those that it has reaped included.
std::chrono::milliseconds cpu_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream rest{text.substr(text.rfind(')') + 1)};
  constexpr int kUserTimeAt = 12;  // counted from the state letter, which is the first
  std::int64_t ticks = 0;
  std::string word;
  for (int at = 1; rest >> word && at < kUserTimeAt + 4; ++at) {
    if (at >= kUserTimeAt) ticks += std::stoll(word);
  }
  return std::chrono::milliseconds{ticks * 1000 / ::sysconf(_SC_CLK_TCK)};
}

}  // namespace

TEST_CASE("a record of 3 MB arrives whole between small ones, with default limits (B11)", "[run]") {
  JobFixture kafka;
  const auto large = large_value();
  fill(kafka, large);
  const auto run = kafka.run(kafka.job("archive", kRawJob));
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  const auto lines = lines_of(kafka.ledger_file());
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "small");
  CHECK((lines[1] == large));
  CHECK(lines[2] == "small too");
}

// Within 30 s, with partition, offset, size and the setting, at little CPU.
TEST_CASE("a record above the receive limit fails the job by name, and is not skipped (B11)",
          "[run]") {
  JobFixture kafka;
  const auto large = large_value();
  fill(kafka, large);
  auto cpu_before = cpu_of_ended();  // of other cases, where they share a process
  const auto run = kafka.run(kafka.job("archive", std::string{kRawJob} + kLowLimits));
  REQUIRE(eventually([&] { return run->err().find("response size 3000") != std::string::npos; }));
  // Starts cost what they cost, and more under a sanitizer: what is bounded is the waiting.
  const auto begun = std::chrono::steady_clock::now();
  cpu_before += cpu_of(run->pid());
  for (const auto worker : workers_below(run->pid())) cpu_before += cpu_of(worker);
  const int exit = run->wait(std::chrono::seconds{30});
  INFO(run->err());
  REQUIRE(exit == 78);
  const auto elapsed = std::chrono::steady_clock::now() - begun;
  CHECK(cpu_of_ended() - cpu_before < elapsed / 3);
  const auto words = boost::json::parse(run->out()).as_object();
  CHECK(words.at("state") == "FAILED");
  const std::string reason{words.at("reason").as_string()};
  INFO(reason);
  CHECK(reason.find("orders-0 cannot be read at offset 1:") != std::string::npos);
  CHECK(reason.find("response size 3000") != std::string::npos);
  CHECK(reason.find("raise consumer.override.receive.message.max.bytes") != std::string::npos);
  CHECK(lines_of(kafka.ledger_file()) == std::vector<std::string>{"small"});

  const auto again = kafka.run(kafka.job("archive", kRawJob));
  REQUIRE(again->wait() == 0);
  const auto lines = lines_of(kafka.ledger_file());
  CHECK((std::count(lines.begin(), lines.end(), large) == 1));
  CHECK(std::count(lines.begin(), lines.end(), "small too") == 1);
}

TEST_CASE("a receive limit below the fetch limits is refused, naming both (B11)", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  const auto run = kafka.run(kafka.job(
      "archive", std::string{kRawJob} + "consumer.override.receive.message.max.bytes = 1000000\n"));
  INFO(run->err());
  CHECK(run->wait(std::chrono::seconds{30}) == 78);
  CHECK(run->err().find("receive.message.max.bytes") != std::string::npos);
  CHECK(run->err().find("fetch.max.bytes") != std::string::npos);
  CHECK(run->err().find("consumer.override.* of the job") != std::string::npos);  // where it stands
}

TEST_CASE("a processor's result of 12 MB reaches the sink whole (B11)", "[run]") {
  JobFixture kafka;
  kafka.topic("orders", 1);
  for (const auto* value : {"small", "grow", "small too"}) {
    kafka.produce_value("orders", 0, value);
  }
  const auto run =
      kafka.run(kafka.job("archive", std::string{kRawJob} +
                                         "transforms = [{ name = \"g\", type = \"grow\" }]\n"),
                {"--plugin-path", SLUICE_GROWING_PLUGIN_DIR});
  INFO(run->err());
  REQUIRE(run->wait() == 0);
  const auto lines = lines_of(kafka.ledger_file());
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "small");
  CHECK((lines[1] == std::string(12'000'000, 'g')));
  CHECK(lines[2] == "small too");
}

}  // namespace sluice::test
