#include "host/kafka/mock_broker.hpp"

#include <charconv>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace sluice::kafka {

namespace {

constexpr int kBrokersDefault = 1;
constexpr int kBrokersMax = 16;
constexpr int kErrorsMax = 100'000;
constexpr int kExitUsage = 2;

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  std::istringstream in{line};
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<int> number_of(const std::string& word) {
  int number = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

std::string answer(const Result<>& result) {
  return result ? "ok" : "error " + result.error().message();
}

/// Numbers of a command, checked before it runs.
struct Command {
  std::string_view form;  ///< t = topic (any word), n = number
  std::function<std::string(MockCluster&, const std::string& topic, const std::vector<int>&)> run;
};

const std::map<std::string, Command, std::less<>>& commands() {
  using Numbers = const std::vector<int>&;
  using Topic = const std::string&;
  static const std::map<std::string, Command, std::less<>> known{
      {"create",
       {"tn", [](MockCluster& c, Topic t, Numbers n) { return answer(c.create_topic(t, n[0])); }}},
      {"leader",
       {"tnn",
        [](MockCluster& c, Topic t, Numbers n) { return answer(c.set_leader(t, n[0], n[1])); }}},
      {"down", {"n", [](MockCluster& c, Topic, Numbers n) { return answer(c.set_down(n[0])); }}},
      {"up", {"n", [](MockCluster& c, Topic, Numbers n) { return answer(c.set_up(n[0])); }}},
      {"rtt",
       {"nn",
        [](MockCluster& c, Topic, Numbers n) { return answer(c.set_round_trip(n[0], n[1])); }}},
      {"errors",
       {"nnn",
        [](MockCluster& c, Topic, Numbers n) -> std::string {
          if (n[2] < 0 || n[2] > kErrorsMax) return "error errors: COUNT is out of range";
          c.push_request_errors(static_cast<std::int16_t>(n[0]), n[1],
                                static_cast<std::size_t>(n[2]));
          return "ok";
        }}},
      {"topic-error",
       {"tn",
        [](MockCluster& c, Topic t, Numbers n) -> std::string {
          c.set_topic_error(t, n[0]);
          return "ok";
        }}},
  };
  return known;
}

}  // namespace

std::string obey(MockCluster& cluster, const std::string& line) {
  const auto words = words_of(line);
  if (words.empty()) return "error empty command";
  const auto found = commands().find(words[0]);
  if (found == commands().end()) return "error " + words[0] + ": not a command";
  const auto& [form, run] = found->second;
  if (words.size() != form.size() + 1) {
    return "error " + words[0] + ": takes " + std::to_string(form.size()) + " arguments";
  }
  std::string topic;
  std::vector<int> numbers;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const auto& word = words[i + 1];
    if (form[i] == 't') {
      topic = word;
    } else if (const auto number = number_of(word)) {
      numbers.push_back(*number);
    } else {
      return "error " + words[0] + ": " + word + " is not a number";
    }
  }
  return run(cluster, topic, numbers);
}

int run_mock_broker(int argc, char** argv) {
  int brokers = kBrokersDefault;
  const bool given = argc == 3 && std::string_view{argv[1]} == "--brokers";
  if (given) brokers = number_of(argv[2]).value_or(0);
  if ((argc > 1 && !given) || brokers < 1 || brokers > kBrokersMax) {
    std::cerr << "usage: mock-broker [--brokers 1.." << kBrokersMax << "]\n";
    return kExitUsage;
  }
  auto cluster = MockCluster::create(brokers);
  if (!cluster) {
    std::cerr << cluster.error().message() << '\n';
    return 1;
  }
  std::cout << cluster->bootstrap_servers() << std::endl;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::cout << obey(*cluster, line) << std::endl;
  }
  return 0;
}

}  // namespace sluice::kafka
