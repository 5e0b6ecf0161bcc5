#include "bench/read_bench.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace sluice::bench {

namespace {

constexpr int kTimeoutMs = 30'000;
constexpr double kStallSeconds = 0.5;
constexpr std::uint64_t kRounds = 1'000'000;  // about 2 ms
constexpr int kMeasurements = 5;              // the fastest one was disturbed least

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(stderr,
               "%s\nusage: --bootstrap HOST:PORT --topic NAME... [--partition N]... [--work-ns N] "
               "[--set NAME=VALUE]...\n",
               why.c_str());
  std::exit(2);
}

std::int64_t number(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto end = text.data() + text.size();
  if (std::from_chars(text.data(), end, value).ptr != end) usage(name + ": not a number: " + text);
  return value;
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) usage(result.error().message());
  return std::move(*result);
}

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A round depends on the one before, so that neither compiler nor core shortens it.
std::uint64_t burn_rounds(std::uint64_t rounds, std::uint64_t state) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    asm volatile("" : "+r"(state));
  }
  return state;
}

}  // namespace

bool ReadArguments::has(const std::string& flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

ReadArguments read_arguments(int argc, char** argv, const std::vector<std::string>& flags) {
  ReadArguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (std::find(flags.begin(), flags.end(), name) != flags.end()) {
      arguments.flags.push_back(name);
      continue;
    }
    if (i + 1 == argc) usage(name + ": unknown, or without a value");
    const std::string value = argv[++i];
    if (name == "--bootstrap") {
      arguments.bootstrap_servers = value;
    } else if (name == "--topic") {
      arguments.topics.push_back(value);
    } else if (name == "--partition") {
      arguments.partitions.push_back(static_cast<std::int32_t>(number(name, value)));
    } else if (name == "--work-ns") {
      arguments.work_ns = number(name, value);
    } else if (const auto equals = value.find('='); name == "--set" && equals != value.npos) {
      arguments.properties.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    } else {
      usage(name + ": unknown");
    }
  }
  if (arguments.bootstrap_servers.empty() || arguments.topics.empty()) usage("too few arguments");
  return arguments;
}

std::vector<Range> ranges_of(const ReadArguments& arguments) {
  const auto client = value_of(kafka::HostClient::create(
      {{"bootstrap.servers", arguments.bootstrap_servers}}, kafka::IsolationLevel::ReadCommitted));
  std::vector<kafka::TopicPartition> all;
  for (const auto& topic : value_of(client->describe_topics(arguments.topics, kTimeoutMs))) {
    for (const auto& found : topic.partitions) {
      const auto& wanted = arguments.partitions;
      const bool read = wanted.empty() ||
                        std::find(wanted.begin(), wanted.end(), found.partition) != wanted.end();
      if (read) all.push_back({topic.name, found.partition});
    }
  }
  const auto starts = client->offsets(all, kafka::LogPoint::earliest(), kTimeoutMs);
  const auto ends = client->offsets(all, kafka::LogPoint::latest(), kTimeoutMs);
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!starts[i].offset || !ends[i].offset) usage("no offsets for " + all[i].topic);
    if (*starts[i].offset < *ends[i].offset) {
      ranges.push_back({all[i], *starts[i].offset, *ends[i].offset});
    }
  }
  return ranges;
}

Work::Work(std::int64_t work_ns) {
  if (work_ns <= 0) return;
  double fastest_s = 1e9;
  for (int i = 0; i < kMeasurements; ++i) {
    const double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    state_ = burn_rounds(kRounds, state_);
    fastest_s = std::min(fastest_s, seconds_of(CLOCK_THREAD_CPUTIME_ID) - before);
  }
  rounds_ = static_cast<std::uint64_t>(static_cast<double>(work_ns) * 1e-9 *
                                       static_cast<double>(kRounds) / fastest_s);
}

void Work::burn(std::size_t records, std::uint64_t bytes) {
  if (rounds_ == 0) return;
  state_ = burn_rounds(rounds_ * records, state_ + bytes);
}

Measure::Measure()
    : started_s_{seconds_of(CLOCK_MONOTONIC)},
      started_cpu_s_{seconds_of(CLOCK_PROCESS_CPUTIME_ID)},
      last_batch_s_{started_s_} {}

void Measure::add(std::size_t records, std::uint64_t bytes) {
  if (records == 0) return;
  const double now_s = seconds_of(CLOCK_MONOTONIC);
  if (now_s - last_batch_s_ > kStallSeconds) ++stalls_;
  last_batch_s_ = now_s;
  records_ += records;
  bytes_ += bytes;
}

void Measure::print() const {
  const double seconds = seconds_of(CLOCK_MONOTONIC) - started_s_;
  const double cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - started_cpu_s_;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto count = static_cast<double>(records_);
  std::printf(
      "{\"records\":%llu,\"bytes\":%llu,\"seconds\":%.3f,\"records_per_s\":%.0f,"
      "\"cpu_us_per_record\":%.3f,\"rss_kb\":%ld,\"stalls\":%d}\n",
      static_cast<unsigned long long>(records_), static_cast<unsigned long long>(bytes_), seconds,
      count / seconds, cpu_s * 1e6 / count, usage.ru_maxrss, stalls_);
}

}  // namespace sluice::bench
