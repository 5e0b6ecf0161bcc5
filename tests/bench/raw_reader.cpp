// bench_raw_reader: what every figure of ours is a ratio of. Plain librdkafka, assigned to the
// partitions, one queue, consume_batch_queue of 1,024 and destroy; nothing of ours in the loop.
// --default leaves the library's own configuration, as a first program against it has; without it
// the worker configuration of facts 4.1 is used.
#include <librdkafka/rdkafka.h>

#include <array>
#include <set>

#include "bench/read_bench.hpp"
#include "host/kafka/reader.hpp"

namespace sluice::bench {

namespace {

constexpr std::size_t kBatch = 1024;
/// The library waits this long for a full array. At speed one is full in 1 ms; the last one is not,
/// and must not cost the reader a tenth of a second.
constexpr int kWaitMs = 5;

rd_kafka_t* make_consumer(const ReadArguments& arguments) {
  auto properties = arguments.has("--default") ? kafka::Properties{} : kafka::reader_defaults();
  properties = kafka::with_overrides(std::move(properties), arguments.properties);
  properties = kafka::with_overrides(std::move(properties),
                                     {{"bootstrap.servers", arguments.bootstrap_servers},
                                      {"group.id", "bench"},
                                      {"enable.auto.commit", "false"},
                                      {"enable.partition.eof", "true"}});
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : properties) {
    char why[256] = {};
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK) {
      std::fprintf(stderr, "%s\n", why);
      std::exit(2);
    }
  }
  rd_kafka_t* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
  rd_kafka_poll_set_consumer(consumer);
  return consumer;
}

void assign(rd_kafka_t* consumer, const std::vector<Range>& ranges) {
  auto* list = rd_kafka_topic_partition_list_new(static_cast<int>(ranges.size()));
  for (const auto& range : ranges) {
    rd_kafka_topic_partition_list_add(list, range.where.topic.c_str(), range.where.partition)
        ->offset = range.start;
  }
  rd_kafka_assign(consumer, list);
  rd_kafka_topic_partition_list_destroy(list);
}

int run(const ReadArguments& arguments) {
  const auto ranges = ranges_of(arguments);
  std::set<kafka::TopicPartition> left;
  std::int64_t records_left = 0;
  for (const auto& range : ranges) {
    left.insert(range.where);
    records_left += range.end - range.start;
  }
  Work work{arguments.work_ns};
  rd_kafka_t* consumer = make_consumer(arguments);
  rd_kafka_queue_t* queue = rd_kafka_queue_get_consumer(consumer);
  Measure measure;
  assign(consumer, ranges);
  std::array<rd_kafka_message_t*, kBatch> messages;
  // Ends with the last record. Only a log with holes needs the EOFs: a Fetch at the tail waits for
  // them up to half a second.
  while (!left.empty() && records_left > 0) {
    const auto got = rd_kafka_consume_batch_queue(queue, kWaitMs, messages.data(), kBatch);
    std::size_t records = 0;
    std::uint64_t bytes = 0;
    for (ssize_t i = 0; i < got; ++i) {
      rd_kafka_message_t* message = messages[static_cast<std::size_t>(i)];
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        ++records;
        bytes += message->len + message->key_len;
      } else if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        left.erase({rd_kafka_topic_name(message->rkt), message->partition});
      }
      rd_kafka_message_destroy(message);
    }
    work.burn(records, bytes);
    measure.add(records, bytes);
    records_left -= static_cast<std::int64_t>(records);
  }
  measure.print();
  rd_kafka_queue_destroy(queue);
  rd_kafka_destroy(consumer);
  return 0;
}

}  // namespace

}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  return run(read_arguments(argc, argv, {"--default"}));
}
