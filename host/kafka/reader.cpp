#include "host/kafka/reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/base/assert.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

/// More in one call brings nothing: 1,024 is what the raw baseline of facts 2.3 uses.
constexpr std::size_t kFetchRecordsMax = 4096;
constexpr std::size_t kDiscardRecords = 1024;
constexpr int kStopHops = 2;
/// At 570,000 records/s with a 2 MB queue this gives about 100 nudges a second (facts 4.2).
constexpr std::chrono::milliseconds kNudgeInterval{2};
/// As long as a broker's thread may sleep, and some more: after that it is something else.
constexpr std::chrono::milliseconds kStartMax{1'500};
constexpr std::uint64_t kEventFdOne = 1;

// What the four facts that end a slice rest on: not for the user to override.
Properties reader_rules(const ReaderOptions& options) {
  return {
      {"group.id", options.group},
      {"enable.auto.commit", "false"},
      {"enable.auto.offset.store", "false"},
      {"auto.offset.reset", "error"},
      {"enable.partition.eof", "true"},
      {"allow.auto.create.topics", "false"},
      {"log.queue", "true"},
  };
}

// After one of these librdkafka goes on behind the record set, so the records in it would be lost.
// Its back-off (fetch.error.backoff.ms) outlasts the seek back: no loop of fetches.
bool is_damaged(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__BAD_MSG || error == RD_KAFKA_RESP_ERR__BAD_COMPRESSION ||
         error == RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED || error == RD_KAFKA_RESP_ERR__UNDERFLOW ||
         error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
}

}  // namespace

Properties reader_defaults() {
  Properties defaults{
      {"isolation.level", "read_committed"},
      {"check.crcs", "true"},  // within the noise (facts 2.3)
      {"socket.nagle.disable", "true"},
      {"connections.max.idle.ms", "0"},
      // As Kafka's own clients. The library's 10 s would be a pause after every outage, and it
      // counts a connection that an answer above the receive limit ends as one that failed.
      {"reconnect.backoff.max.ms", "1000"},
      {"fetch.wait.max.ms", "10"},  // one idle partition must not hold the others (finding 3)
      {"fetch.min.bytes", "1"},
      {"fetch.error.backoff.ms", "50"},
      {"fetch.max.bytes", "8388608"},
      {"max.partition.fetch.bytes", "262144"},
      {"queued.min.messages", "100000"},
      // Per partition, and overshot by up to one fetch: what is held at most, with some 350 bytes
      // of the library's for each record. With the nudge more brings no speed. From 1 MiB and
      // fetches of 1 MiB to these a reader of 100 partitions went from 0.96 to 1.6 M records/s, 1.1
      // to 0.56 us of CPU a record and 680 to 310 MB; one of 8 from 0.50 to 0.37 us and 67 to 48
      // MB.
      {"queued.max.messages.kbytes", "512"},
  };
  return with_overrides(std::move(defaults), nudge_properties());
}

// ------------------------------------------------------------------------------- PartitionReader

PartitionReader::PartitionReader(Reader& reader, std::string topic, std::uint32_t topic_index,
                                 std::int32_t partition)
    : reader_{reader},
      topic_{std::move(topic)},
      topic_index_{topic_index},
      partition_{partition},
      self_{rd_kafka_topic_partition_list_new(1)} {
  rd_kafka_topic_partition_list_add(self_.get(), topic_.c_str(), partition_);
}

PartitionReader::~PartitionReader() = default;

// Before every assign, not once: an unassign while the topic's metadata is unknown frees the
// library's partition object, and the next assign makes another with another queue. Unforwarded
// before the assign, or early records would go to the consumer's own queue.
Result<> PartitionReader::attach() {
  queue_.reset(rd_kafka_queue_get_partition(reader_.client_.get(), topic_.c_str(), partition_));
  if (!queue_) {
    return Error{ErrorCode::Kafka, "open: " + partition_name(topic_, partition_) +
                                       ": librdkafka has no queue for it; check the topic's name"};
  }
  rd_kafka_queue_forward(queue_.get(), nullptr);
  rd_kafka_queue_io_event_enable(queue_.get(), reader_.wake_fd(), &kEventFdOne, sizeof kEventFdOne);
  return {};
}

void PartitionReader::restart_at(std::int64_t offset) {
  stale_position_ = library_position();
  position_is_stale_ = true;
  start_offset_ = offset;
  next_offset_ = offset;
  eof_offset_.reset();
  if (!std::exchange(is_starting_, true)) ++reader_.starting_;
  reader_.last_start_ = std::chrono::steady_clock::now();
}

Result<> PartitionReader::assign(std::int64_t offset) {
  SLUICE_TRY(attach());
  restart_at(offset);
  stopped_ = false;
  self_->elems[0].offset = offset;
  return result_of("assign", partition_name(topic_, partition_),
                   rd_kafka_incremental_assign(reader_.client_.get(), self_.get()));
}

void PartitionReader::unassign() {
  // Fails only where the assignment is gone already, which is what is wanted.
  static_cast<void>(result_of("unassign", topic_,
                              rd_kafka_incremental_unassign(reader_.client_.get(), self_.get())));
  reader_.await_stop();
  discard_queued();
}

Result<> PartitionReader::refetch(std::int64_t offset) {
  SLUICE_ASSERT(offset >= 0, offset);
  unassign();
  return assign(offset);
}

Result<> PartitionReader::seek(std::int64_t offset) {
  SLUICE_ASSERT(offset >= 0, offset);
  if (stopped_) return refetch(offset);  // librdkafka drops a seek of a stopped fetcher in silence
  restart_at(offset);
  self_->elems[0].offset = offset;
  // Timeout 0: another one is divided by 1,000 in 2.0 (facts 4.4); the barrier stands at once.
  SLUICE_TRY(result_of("seek", partition_name(topic_, partition_),
                       rd_kafka_seek_partitions(reader_.client_.get(), self_.get(), 0)));
  return {};
}

FetchResult PartitionReader::fetch(std::size_t records_max) {
  SLUICE_ASSERT(records_max > 0);
  FetchResult result;
  const std::size_t wanted = std::min(records_max, kFetchRecordsMax);
  auto& arrivals = reader_.arrivals_;
  if (arrivals.size() < wanted) arrivals.resize(wanted);
  // Timeout 0: with any other the library waits the whole time for a full array (facts 4.4).
  reader_.serving_ = &result;
  const auto got = rd_kafka_consume_batch_queue(queue_.get(), 0, arrivals.data(), wanted);
  reader_.serving_ = nullptr;
  const auto arrived = got > 0 ? static_cast<std::size_t>(got) : 0;
  result.drained = arrived < wanted;
  if (arrived == 0) return result;
  if (std::exchange(is_starting_, false)) --reader_.starting_;

  std::size_t kept = 0;
  auto handing = Handing::On;
  for (std::size_t i = 0; i < arrived; ++i) {
    rd_kafka_message_t* message = arrivals[i];
    const bool record = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    // A record below the position can only come from a seek that was lost: never handed out.
    if (record && handing == Handing::On && message->offset >= next_offset_) {
      arrivals[kept++] = message;
      continue;
    }
    if (!record && handing == Handing::On) handing = take_event(*message, result);
    rd_kafka_message_destroy(message);
  }
  if (kept > 0) {
    result.block = reader_.pool_.make({arrivals.data(), kept}, topic_index_);
    next_offset_ = result.block.last_offset() + 1;
    position_is_stale_ = false;
  }
  if (handing == Handing::Again) {
    again_at(next_offset_, result);
    result.drained = true;
  }
  if (reader_.nudges_) reader_.nudge_if_low(queued(), result.block);
  return result;
}

PartitionReader::Handing PartitionReader::take_event(const rd_kafka_message_t& event,
                                                     FetchResult& result) {
  if (event.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    eof_offset_ = event.offset;
    result.eof_offset = event.offset;
    position_is_stale_ = false;
    return Handing::On;
  }
  if (event.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
    stopped_ = true;
    // It carries no version, so it survives a seek; and the fetcher that it stopped has dropped
    // that.
    const bool from_before_seek = event.offset < start_offset_;
    result.expired = !from_before_seek;
    return from_before_seek ? Handing::Again : Handing::On;
  }
  const char* why = rd_kafka_message_errstr(&event);
  result.error =
      Error{error_code_of(event.err), "fetch: " + partition_name(topic_, partition_) +
                                          " at offset " + std::to_string(event.offset) + ": " +
                                          (why != nullptr ? why : rd_kafka_err2str(event.err))};
  return is_damaged(event.err) ? Handing::Again : Handing::On;
}

void PartitionReader::again_at(std::int64_t offset, FetchResult& result) {
  const auto restarted = seek(offset);
  if (!restarted && !result.error) result.error = restarted.error();
}

std::int64_t PartitionReader::library_position() const {
  const auto asked = rd_kafka_position(reader_.client_.get(), self_.get());
  const auto& answer = self_->elems[0];
  const bool known = asked == RD_KAFKA_RESP_ERR_NO_ERROR &&
                     answer.err == RD_KAFKA_RESP_ERR_NO_ERROR && answer.offset >= 0;
  return known ? answer.offset : RD_KAFKA_OFFSET_INVALID;
}

std::int64_t PartitionReader::position() const {
  const auto shown = std::max(next_offset_, eof_offset_.value_or(0));
  const auto library = library_position();
  // A seek is carried out by the library's own thread: until then it answers with the old place,
  // and a slice would end unread.
  if (position_is_stale_ && library == stale_position_) return shown;
  return std::max(shown, library);
}

void PartitionReader::discard_queued() {
  auto& arrivals = reader_.arrivals_;
  arrivals.resize(std::max(arrivals.size(), kDiscardRecords));
  for (;;) {
    const auto got =
        rd_kafka_consume_batch_queue(queue_.get(), 0, arrivals.data(), arrivals.size());
    if (got <= 0) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      rd_kafka_message_destroy(arrivals[i]);
    }
  }
}

std::size_t PartitionReader::queued() const {
  return rd_kafka_queue_length(queue_.get());
}

// ---------------------------------------------------------------------------------------- Reader

Result<std::unique_ptr<Reader>> Reader::create(const Properties& overrides, ReaderOptions options) {
  std::unique_ptr<Reader> reader{new Reader};
  auto defaults = reader_defaults();
  // The library refuses a longest wait below the first one: beside a user's first one its own
  // stands.
  if (!find_property(overrides, "reconnect.backoff.ms").empty()) {
    std::erase_if(defaults,
                  [](const auto& each) { return each.first == "reconnect.backoff.max.ms"; });
  }
  auto properties = with_overrides(std::move(defaults), overrides);
  properties = with_overrides(std::move(properties), reader_rules(options));
  reader->credentials_ = {std::string{find_property(properties, "sasl.username")},
                          std::string{find_property(properties, "sasl.password")}};
  reader->nudges_ = options.nudge == Nudge::WhenNeeded && needs_nudge();
  SLUICE_TRY(reader->connect(properties));
  return reader;
}

Result<> Reader::connect(const Properties& properties) {
  auto wake = EventFd::create();
  if (!wake) return wake.error();
  wake_ = std::move(*wake);
  auto conf = make_conf(properties);
  if (!conf) return conf.error();
  ask_for_events(conf->get());
  rd_kafka_conf_set_opaque(conf->get(), this);
  rd_kafka_conf_set_error_cb(conf->get(), &Reader::on_error);
  queue_records_max_ = conf_number(conf->get(), "queued.min.messages");
  queue_bytes_max_ = conf_number(conf->get(), "queued.max.messages.kbytes") * 1024;
  auto client = make_client(RD_KAFKA_CONSUMER, std::move(*conf));
  if (!client) return client.error();
  client_ = std::move(*client);
  rd_kafka_poll_set_consumer(client_.get());
  client_queue_.reset(rd_kafka_queue_get_consumer(client_.get()));
  log_queue_.reset(rd_kafka_queue_new(client_.get()));
  return result_of("log queue", "kafka client",
                   rd_kafka_set_log_queue(client_.get(), log_queue_.get()));
}

// "Topic does not exist" and its like come through the partition's queue, but as a callback made
// while that queue is read and not as a message.
void Reader::on_error(rd_kafka_t*, int error, const char* reason, void* opaque) {
  auto& reader = *static_cast<Reader*>(opaque);
  const auto code = static_cast<rd_kafka_resp_err_t>(error);
  if (reader.serving_ != nullptr) {
    reader.serving_->error = Error{error_code_of(code), std::string{"fetch: "} + reason};
  } else {
    reader.events_.push_back({kind_of(code, reason), reason});
  }
}

Reader::~Reader() {
  while (!partitions_.empty()) close(*partitions_.back());
}

// Without a handle of its topic librdkafka would forget what it knows of a partition between two
// assignments, and ask the cluster again: one handle per topic lives as long as the Reader.
Result<> Reader::keep_topic(const std::string& topic) {
  if (topics_.contains(topic)) return {};
  Handle<rd_kafka_topic_t> handle{rd_kafka_topic_new(client_.get(), topic.c_str(), nullptr)};
  if (!handle) return kafka_error("open", topic, rd_kafka_last_error());
  topics_.emplace(topic, std::move(handle));
  return {};
}

Result<PartitionReader*> Reader::open(std::string_view topic, std::uint32_t topic_index,
                                      std::int32_t partition, std::int64_t offset) {
  SLUICE_ASSERT(offset >= 0, topic, partition, offset);
  for (const auto& open : partitions_) {
    SLUICE_ASSERT(open->topic() != topic || open->partition() != partition, topic, partition);
  }
  SLUICE_TRY(keep_topic(std::string{topic}));
  std::unique_ptr<PartitionReader> opened{
      new PartitionReader{*this, std::string{topic}, topic_index, partition}};
  SLUICE_TRY(opened->assign(offset));
  partitions_.push_back(std::move(opened));
  return partitions_.back().get();
}

void Reader::close(PartitionReader& partition) {
  partition.unassign();
  if (std::exchange(partition.is_starting_, false)) --starting_;
  rd_kafka_queue_io_event_enable(partition.queue_.get(), -1, nullptr, 0);
  const auto found = std::find_if(partitions_.begin(), partitions_.end(),
                                  [&](const auto& open) { return open.get() == &partition; });
  SLUICE_ASSERT(found != partitions_.end(), partition.topic(), partition.partition());
  partitions_.erase(found);
}

// Stopping a fetcher takes two hops through the library's main thread, and a second stop in between
// is never answered: then no assignment of this client is served again, of no partition. Two
// questions that the same thread answers in order outlast the two hops.
void Reader::await_stop() {
  for (int hop = 0; hop < kStopHops; ++hop) {
    rd_kafka_topic_partition_list_t* subscribed = nullptr;
    if (rd_kafka_subscription(client_.get(), &subscribed) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_topic_partition_list_destroy(subscribed);
    }
  }
}

void Reader::poll() {
  for (auto* queue : {client_queue_.get(), log_queue_.get()}) {
    while (const Owned<rd_kafka_event_t> event{rd_kafka_queue_poll(queue, 0)}) {
      append_client_event(event.get(), events_);
    }
  }
}

ClientEvents Reader::take_client_events() {
  return std::exchange(events_, {});
}

// The library counts the queue's limit in records and in bytes; whichever comes first stops the
// fetch. Asked after every fetch that brought something, so a queue that was full is seen at the
// latest when it is empty, also where one record fills it.
void Reader::nudge_if_low(std::size_t queued, const RecordBlock& last_block) {
  std::uint64_t full = queue_records_max_;
  if (!last_block.empty()) {
    const auto average = std::max<std::uint64_t>(last_block.bytes() / last_block.size(), 1);
    full = std::min(full, queue_bytes_max_ / average);
  }
  if (queued >= std::max<std::uint64_t>(full / 2, 1)) return;
  nudge();
}

void Reader::nudge() {
  const auto now = std::chrono::steady_clock::now();
  owes_nudge_ = now - last_nudge_ < kNudgeInterval;
  if (owes_nudge_) return;
  last_nudge_ = now;
  nudge_fetch(client_.get(), credentials_);
}

bool Reader::may_stall() const {
  if (!nudges_) return false;
  const bool starts = starting_ > 0 && std::chrono::steady_clock::now() - last_start_ < kStartMax;
  return owes_nudge_ || starts;
}

}  // namespace sluice::kafka
