// bench_group_watch: how far a consumer group is, seen from outside: one JSON line each time its
// committed offsets change, until they have reached the topic's end. With it the rate of a program
// that tells nobody its progress (Kafka Connect) is known from what it has committed.
//   --bootstrap HOST:PORT --topic NAME --group NAME [--period-ms N]
// A line: {"at_s": CLOCK_MONOTONIC, "committed": records, "partitions": of how many, "end": records
// at which it ends}
#include <time.h>

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/read_bench.hpp"

namespace sluice::bench {

namespace {

namespace options = boost::program_options;

constexpr int kTimeoutMs = 5'000;

struct Arguments {
  ReadArguments read;  ///< broker and topic
  std::string topic;
  std::string group;
  int period_ms = 20;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  options::options_description known{"bench_group_watch"};
  known.add_options()("bootstrap", options::value(&arguments.read.bootstrap_servers)->required(),
                      "host:port")("topic", options::value(&arguments.topic)->required(), "topic")(
      "group", options::value(&arguments.group)->required(), "the group")(
      "period-ms", options::value(&arguments.period_ms)->default_value(arguments.period_ms),
      "how often it is asked");
  options::variables_map found;
  options::store(options::parse_command_line(argc, argv, known), found);
  options::notify(found);
  arguments.read.topics = {arguments.topic};
  return arguments;
}

double monotonic_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Progress {
  std::int64_t committed = 0;
  int partitions = 0;
  bool operator==(const Progress&) const = default;
};

void watch(const Arguments& arguments) {
  const auto ranges = ranges_of(arguments.read);
  std::vector<kafka::TopicPartition> where;
  std::int64_t records = 0;
  for (const auto& range : ranges) {
    where.push_back(range.where);
    records += range.end - range.start;
  }
  const auto created =
      kafka::HostClient::create({{"bootstrap.servers", arguments.read.bootstrap_servers}},
                                kafka::IsolationLevel::ReadCommitted);
  if (!created) throw std::runtime_error{created.error().message()};
  for (Progress told; told.committed < records;) {
    const auto asked = (*created)->committed(arguments.group, where, kTimeoutMs);
    // A group that is only just being made has no coordinator for a moment: ask again.
    Progress now;
    for (std::size_t i = 0; asked && i < ranges.size(); ++i) {
      if (!(*asked)[i].offset) continue;
      now.committed += *(*asked)[i].offset - ranges[i].start;
      ++now.partitions;
    }
    if (asked && now != told) {
      told = now;
      std::printf("{\"at_s\":%.4f,\"committed\":%lld,\"partitions\":%d,\"end\":%lld}\n",
                  monotonic_s(), static_cast<long long>(now.committed), now.partitions,
                  static_cast<long long>(records));
      std::fflush(stdout);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{arguments.period_ms});
  }
}

}  // namespace

}  // namespace sluice::bench

int main(int argc, char** argv) try {
  sluice::bench::watch(sluice::bench::parse(argc, argv));
  return 0;
} catch (const std::exception& wrong) {
  std::cerr << "bench_group_watch: " << wrong.what() << '\n';
  return 1;
}
