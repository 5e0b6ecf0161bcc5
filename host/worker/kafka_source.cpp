#include "host/worker/kafka_source.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"

namespace sluice::worker {

namespace {

/// A broker that is down speaks at every reconnect: one line a minute per kind, with the count.
constexpr std::int64_t kEventWindowMs = 60'000;

SourceEvent::Kind kind_of(kafka::ClientEventKind kind) {
  switch (kind) {
    case kafka::ClientEventKind::Fatal:
      return SourceEvent::Kind::Fatal;
    case kafka::ClientEventKind::BrokerDown:
      return SourceEvent::Kind::Disconnected;
    case kafka::ClientEventKind::ResponseTooLarge:
      return SourceEvent::Kind::TooLarge;
    default:
      return SourceEvent::Kind::Told;
  }
}

std::int64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

class KafkaSource::Partition final : public PartitionSource {
 public:
  Partition(KafkaSource& source, kafka::PartitionReader& reader)
      : source_{source}, reader_{reader} {}

  Fetched fetch(std::size_t records_max) override {
    kafka::FetchResult result = reader_.fetch(records_max);
    Fetched fetched;
    if (!result.block.empty()) fetched.block = source_.box(std::move(result.block));
    fetched.eof_offset = result.eof_offset;
    fetched.expired = result.expired;
    fetched.drained = result.drained;
    fetched.error = std::move(result.error);
    return fetched;
  }
  std::int64_t position() const override { return reader_.position(); }
  void seek(std::int64_t offset) override { reader_.seek(offset); }
  Result<> refetch(std::int64_t offset) override { return reader_.refetch(offset); }

  kafka::PartitionReader& reader() { return reader_; }

 private:
  KafkaSource& source_;
  kafka::PartitionReader& reader_;
};

Result<std::unique_ptr<KafkaSource>> KafkaSource::create(const Properties& properties,
                                                         const std::string& group) {
  kafka::ReaderOptions options;
  options.group = group;
  auto reader = kafka::Reader::create(properties, std::move(options));
  if (!reader) return reader.error();
  return std::unique_ptr<KafkaSource>{new KafkaSource{std::move(*reader)}};
}

KafkaSource::KafkaSource(std::unique_ptr<kafka::Reader> reader) : reader_{std::move(reader)} {}

KafkaSource::~KafkaSource() {
  SLUICE_ASSERT(free_boxes_.size() == boxes_.size());
}

Result<PartitionSource*> KafkaSource::open(std::string_view topic, std::uint32_t topic_index,
                                           std::int32_t partition, std::int64_t offset) {
  const auto opened = reader_->open(topic, topic_index, partition, offset);
  if (!opened) return opened.error();
  partitions_.push_back(std::make_unique<Partition>(*this, **opened));
  return partitions_.back().get();
}

void KafkaSource::close(PartitionSource& partition) {
  const auto at = std::find_if(partitions_.begin(), partitions_.end(),
                               [&](const auto& open) { return open.get() == &partition; });
  SLUICE_ASSERT(at != partitions_.end());
  reader_->close((*at)->reader());
  partitions_.erase(at);
}

Block KafkaSource::box(kafka::RecordBlock block) {
  if (free_boxes_.empty()) {
    boxes_.push_back(std::make_unique<Box>());
    boxes_.back()->source = this;
    free_boxes_.reserve(boxes_.size());  // so that giving one back cannot fail
    free_boxes_.push_back(boxes_.back().get());
  }
  Box* box = free_boxes_.back();
  free_boxes_.pop_back();
  box->block = std::move(block);
  return Block{box->block.records(), box->block.bytes(), box, [](void* owner) noexcept {
                 Box* used = static_cast<Box*>(owner);
                 used->block = kafka::RecordBlock{};
                 used->source->free_boxes_.push_back(used);
               }};
}

std::vector<SourceEvent> KafkaSource::poll() {
  reader_->poll();
  std::vector<SourceEvent> events;
  const std::int64_t now_ms = monotonic_us() / 1000;
  for (kafka::ClientEvent& event : reader_->take_client_events()) {
    EventWindow& window = windows_[event.kind];
    const auto kind = kind_of(event.kind);
    std::string text = "kafka: " + std::move(event.text);
    if (now_ms < window.until_ms) {
      ++window.swallowed;
      // What is no use to the log again still says how things stand.
      if (kind != SourceEvent::Kind::Told) events.push_back({kind, std::move(text), true});
      continue;
    }
    if (window.swallowed > 0) text += " (and " + std::to_string(window.swallowed) + " before)";
    window = {now_ms + kEventWindowMs, 0};
    events.push_back({kind, std::move(text), false});
  }
  return events;
}

std::int64_t PollTime::now_us() const {
  return monotonic_us();
}

void PollTime::pause(std::int64_t timeout_us, Wake wake) {
  std::array<pollfd, 2> fds{{{doorbell_fd_, POLLIN, 0}, {source_.wake_fd(), POLLIN, 0}}};
  const nfds_t count = wake == Wake::AnyWork ? 2 : 1;
  const bool may_stall = count == 2 && source_.may_stall();
  if (may_stall) {
    constexpr std::chrono::microseconds kStallWait = kafka::Reader::kStallWait;
    timeout_us = std::min<std::int64_t>(timeout_us, kStallWait.count());
  }
  const timespec timeout{timeout_us / 1'000'000, (timeout_us % 1'000'000) * 1000};
  const int ready = ::ppoll(fds.data(), count, &timeout, nullptr);
  if (ready == 0 && may_stall) source_.nudge();
  if (ready <= 0) return;
  if (count == 2 && (fds[1].revents & POLLIN) != 0) source_.woken();
}

}  // namespace sluice::worker
