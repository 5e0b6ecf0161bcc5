#include "host/dead_letter/kafka_outlet.hpp"

#include <utility>

namespace sluice::dead_letter {

namespace {

/// What makes a letter's answer final, so no configuration of the cluster's clients may change it.
kafka::Properties outlet_properties() {
  return {
      {"enable.idempotence", "true"},
      {"acks", "all"},
      // Never given up by the library: a letter that timed out may have been written all the same,
      // and its repetition would be a second one.
      {"message.timeout.ms", "0"},
      // One letter a request: one that is too large must not take others down with it.
      {"batch.num.messages", "1"},
      {"linger.ms", "0"},
      // The broker says what is too large, not this client.
      {"message.max.bytes", "1000000000"},
      // How long a topic that the broker does not know may still be about to appear.
      {"topic.metadata.propagation.max.ms", "5000"},
  };
}

class KafkaOutlet final : public Outlet {
 public:
  explicit KafkaOutlet(std::string topic) : topic_{std::move(topic)} {}

  Result<> connect(const kafka::Properties& properties) {
    kafka::ProducerOptions options;
    options.on_delivery = [this](std::uint64_t tag, const Error* failure) {
      answers_.push_back({tag, failure == nullptr ? std::nullopt : std::optional{*failure}});
    };
    auto producer = kafka::Producer::create(kafka::with_overrides(properties, outlet_properties()),
                                            std::move(options));
    if (!producer) return producer.error();
    producer_ = *std::move(producer);
    return {};
  }

  Result<bool> send(const kafka::OutRecord& record) override {
    return producer_->try_produce(topic_, record);
  }

  std::vector<Answer> serve(int timeout_ms) override {
    producer_->wait(timeout_ms);
    for (kafka::ClientEvent& event : producer_->take_client_events()) {
      is_broken_ = is_broken_ || event.kind == kafka::ClientEventKind::Fatal;
      // Its log lines say the same as its errors, with more words.
      if (event.kind != kafka::ClientEventKind::Log) trouble_ = std::move(event.text);
    }
    if (!answers_.empty() && !answers_.back().failure) trouble_.clear();
    return std::exchange(answers_, {});
  }

  std::string trouble() const override { return trouble_; }
  bool is_broken() const override { return is_broken_; }

 private:
  std::string topic_;
  std::vector<Answer> answers_;
  std::string trouble_;
  bool is_broken_ = false;
  std::unique_ptr<kafka::Producer> producer_;
};

}  // namespace

Result<std::unique_ptr<Outlet>> open_kafka_outlet(const kafka::Properties& properties,
                                                  std::string topic) {
  auto outlet = std::make_unique<KafkaOutlet>(std::move(topic));
  SLUICE_TRY(outlet->connect(properties));
  return std::unique_ptr<Outlet>{std::move(outlet)};
}

}  // namespace sluice::dead_letter
