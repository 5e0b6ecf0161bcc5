// What the two read benchmarks share: the same arguments, the same work per record, the same JSON
// line, so that a ratio of their figures compares readers and nothing else.
//
//   --bootstrap HOST:PORT --topic NAME [--topic NAME]... [--partition N]...   all partitions by
//   default
//   --work-ns N        CPU time burnt per record, as the null sink's work.ns does
//   --set NAME=VALUE   a librdkafka property over the configuration
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/kafka/admin.hpp"

namespace sluice::bench {

/// One partition to read, from its start to the end it had when the benchmark began.
struct Range {
  kafka::TopicPartition where;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

struct ReadArguments {
  std::string bootstrap_servers;
  std::vector<std::string> topics;
  std::vector<std::int32_t> partitions;  ///< empty: all
  std::int64_t work_ns = 0;
  kafka::Properties properties;
  std::vector<std::string> flags;  ///< other --words, for the program itself

  bool has(const std::string& flag) const;
};

/// Prints why and exits with 2 if the arguments are wrong.
ReadArguments read_arguments(int argc, char** argv, const std::vector<std::string>& flags);
std::vector<Range> ranges_of(const ReadArguments& arguments);

/// The null sink's loop: CPU time, not time, so that a shared core does not make it less.
class Work {
 public:
  explicit Work(std::int64_t work_ns);
  void burn(std::size_t records, std::uint64_t bytes);

 private:
  std::uint64_t rounds_ = 0;
  std::uint64_t state_ = 1;
};

/// Times a read, and prints {records, bytes, seconds, records_per_s, cpu_us_per_record, rss_kb,
/// stalls}. A stall is half a second without a batch: what the prefetch of facts 4.2 does, and no
/// busy machine.
class Measure {
 public:
  Measure();
  /// After each batch.
  void add(std::size_t records, std::uint64_t bytes);
  void print() const;

 private:
  double started_s_;
  double started_cpu_s_;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  double last_batch_s_;
  int stalls_ = 0;
};

}  // namespace sluice::bench
