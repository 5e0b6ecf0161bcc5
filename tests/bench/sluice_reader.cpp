// bench_reader: kafka::Reader as the worker uses it (sticky partitions, a queue each, blocks of
// 1,000), without worker, plugin and host around it. Against bench_raw_reader it shows what the
// reader costs; with
// --no-nudge it shows the prefetch stall of facts 4.2.
#include <poll.h>

#include "bench/read_bench.hpp"
#include "host/kafka/reader.hpp"

namespace sluice::bench {

namespace {

constexpr std::size_t kBatch = 1000;
constexpr int kWaitMs = 100;

struct Open {
  kafka::PartitionReader* partition = nullptr;
  std::int64_t end = 0;
};

/// Everything that is there; true if the partition has reached its end.
bool drain(Open& open, Work& work, Measure& measure) {
  for (;;) {
    const auto fetched = open.partition->fetch(kBatch);
    if (!fetched.block.empty()) {
      work.burn(fetched.block.size(), fetched.block.bytes());
      measure.add(fetched.block.size(), fetched.block.bytes());
      if (fetched.block.last_offset() + 1 >= open.end) return true;
    }
    if (fetched.drained) return open.partition->eof_offset().value_or(-1) >= open.end;
  }
}

int run(const ReadArguments& arguments) {
  const auto ranges = ranges_of(arguments);
  kafka::ReaderOptions options;
  if (arguments.has("--no-nudge")) options.nudge = kafka::Nudge::Never;
  Work work{arguments.work_ns};
  auto reader = kafka::Reader::create(
      kafka::with_overrides({{"bootstrap.servers", arguments.bootstrap_servers}},
                            arguments.properties),
      options);
  if (!reader) {
    std::fprintf(stderr, "%s\n", reader.error().message().c_str());
    return 2;
  }
  Measure measure;
  std::vector<Open> open;
  for (const auto& range : ranges) {
    open.push_back(
        {*(*reader)->open(range.where.topic, 0, range.where.partition, range.start), range.end});
  }
  while (!open.empty()) {
    std::erase_if(open, [&](Open& one) { return drain(one, work, measure); });
    pollfd wake{(*reader)->wake_fd(), POLLIN, 0};
    if (!open.empty() && ::poll(&wake, 1, kWaitMs) == 1) (*reader)->woken();
  }
  measure.print();
  return 0;
}

}  // namespace

}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  return run(read_arguments(argc, argv, {"--no-nudge"}));
}
