// bench_produce: fills a topic for the read benchmarks, creating it where it is missing.
//   --bootstrap HOST:PORT --topic NAME [--records N] [--size BYTES] [--partitions N] [--keys N]
//   [--run N] [--rate N]
// Values are printable and not compressible to nothing; keys are numbers, repeated over --keys of
// them.
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "host/kafka/producer.hpp"
#include "host/kafka/topic_admin.hpp"

namespace sluice::bench {

namespace {

namespace options = boost::program_options;
using Clock = std::chrono::steady_clock;

constexpr int kTimeoutMs = 120'000;
constexpr std::size_t kBulk = 10'000;

struct Arguments {
  std::string bootstrap_servers;
  std::string topic;
  std::uint64_t records = 5'000'000;
  std::size_t size = 200;
  int partitions = 8;
  std::uint64_t keys = 100'000;
  std::uint64_t run = 1;
  std::uint64_t rate = 0;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  options::options_description known{"bench_produce"};
  known.add_options()("bootstrap", options::value(&arguments.bootstrap_servers)->required(),
                      "host:port")("topic", options::value(&arguments.topic)->required(),
                                   "created if missing")(
      "records", options::value(&arguments.records)->default_value(arguments.records))(
      "size", options::value(&arguments.size)->default_value(arguments.size), "bytes of a value")(
      "partitions", options::value(&arguments.partitions)->default_value(arguments.partitions))(
      "keys", options::value(&arguments.keys)->default_value(arguments.keys))(
      "run", options::value(&arguments.run)->default_value(arguments.run),
      "so many records in a row to each partition")(
      "rate", options::value(&arguments.rate)->default_value(arguments.rate),
      "records a second, evenly; 0: as fast as it goes");
  options::variables_map found;
  options::store(options::parse_command_line(argc, argv, known), found);
  options::notify(found);
  return arguments;
}

/// Values cut from one text at changing places: every record differs, and none is made anew.
std::string sample_text(std::size_t size) {
  std::string text;
  std::uint32_t state = 12345;
  while (text.size() < size * 2 + 4096) {
    state = state * 1664525 + 1013904223;
    text.push_back(static_cast<char>('0' + (state >> 24) % 75));
  }
  return text;
}

/// Waits until record `at` is due; answers how many may go by then.
std::uint64_t due(const Arguments& arguments, std::uint64_t at, Clock::time_point begin) {
  std::this_thread::sleep_until(begin +
                                std::chrono::nanoseconds{at * 1'000'000'000 / arguments.rate});
  const auto passed = std::chrono::duration<double>(Clock::now() - begin).count();
  return static_cast<std::uint64_t>(passed * static_cast<double>(arguments.rate)) + 1 - at;
}

Result<> fill(const Arguments& arguments) {
  const kafka::Properties where{{"bootstrap.servers", arguments.bootstrap_servers}};
  auto admin = kafka::TopicAdmin::create(where);
  if (!admin) return admin.error();
  const auto created =
      (*admin)->create_topic(arguments.topic, arguments.partitions, {}, kTimeoutMs);
  if (!created && created.error().code() != ErrorCode::AlreadyExists) return created.error();
  auto producer = kafka::Producer::create(
      kafka::with_overrides(where, {{"queue.buffering.max.messages", "500000"},
                                    {"batch.size", "1000000"},
                                    {"linger.ms", arguments.rate > 0 ? "0" : "20"}}));
  if (!producer) return producer.error();
  const auto text = sample_text(arguments.size);
  std::vector<std::string> keys(kBulk);
  std::vector<kafka::OutRecord> bulk;
  const auto begin = Clock::now();
  const auto partitions = static_cast<std::uint64_t>(arguments.partitions);
  for (std::uint64_t at = 0; at < arguments.records; at += bulk.size()) {
    const auto most = arguments.rate > 0 ? due(arguments, at, begin) : arguments.records;
    bulk.resize(std::min<std::uint64_t>({kBulk, arguments.records - at, most}));
    for (std::size_t i = 0; i < bulk.size(); ++i) {
      keys[i] = std::to_string((at + i) % arguments.keys);
      bulk[i].key = {keys[i].data(), keys[i].size()};
      bulk[i].value = {text.data() + (at + i) % 4096, arguments.size};
      bulk[i].partition = static_cast<std::int32_t>((at + i) / arguments.run % partitions);
    }
    SLUICE_TRY((*producer)->produce_bulk(arguments.topic, bulk));
  }
  return (*producer)->flush(kTimeoutMs);
}

}  // namespace

}  // namespace sluice::bench

int main(int argc, char** argv) try {
  const auto filled = sluice::bench::fill(sluice::bench::parse(argc, argv));
  if (filled) return 0;
  std::cerr << filled.error().message() << '\n';
  return 1;
} catch (const std::exception& wrong) {
  std::cerr << wrong.what() << '\n';
  return 2;
}
