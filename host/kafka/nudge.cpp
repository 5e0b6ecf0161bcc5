#include "host/kafka/nudge.hpp"

#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

constexpr int kVersionWithBackoffProperty = 0x020200ff;
constexpr const char* kQueueBackoffMs = "5";

}  // namespace

bool needs_nudge() {
  return rd_kafka_version() < kVersionWithBackoffProperty;
}

Properties nudge_properties() {
  if (needs_nudge()) return {};
  return {{"fetch.queue.backoff.ms", kQueueBackoffMs}};
}

void nudge_fetch(rd_kafka_t* client, const SaslCredentials& credentials) {
  const Owned<rd_kafka_error_t> ignored{rd_kafka_sasl_set_credentials(
      client, credentials.user.c_str(), credentials.password.c_str())};
}

}  // namespace sluice::kafka
