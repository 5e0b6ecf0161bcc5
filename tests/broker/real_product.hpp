// `sluice run` on the broker of the fixture: RealKafka's topics and JobFolder's jobs in one object,
// and what both are asked together. Jobs of these tests are called like their topic, so that their
// group, connect-TOPIC, is as unique as that.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "broker/real_kafka.hpp"
#include "integration/host/job_folder.hpp"

namespace sluice::tests {

class RealProduct : public RealKafka, public test::JobFolder {
 public:
  using RealKafka::host;  // the client, not `sluice host`

  RealProduct() : JobFolder{properties().front().second} {}

  /// `count` records into partition 0, valued "value-N"; N goes on from call to call.
  void fill(const std::string& topic, int count) {
    const auto out = producer();
    for (int i = 0; i < count; ++i) send(*out, topic, "k", "value-" + std::to_string(sent_++));
    ok(out->flush(kTimeoutMs));
  }

  /// TOPIC.toml: the topic into the ledger, with `more` lines.
  std::filesystem::path ledger_job(const std::string& topic, const std::string& more) {
    return job(topic, "connector.class = \"ledger\"\ntopics = [\"" + topic + "\"]\n" + more);
  }

  /// What the job's group says of partition 0.
  kafka::CommittedOffset committed(const std::string& topic) {
    const std::vector<kafka::TopicPartition> where{{topic, 0}};
    return value_of(host()->committed("connect-" + topic, where, kTimeoutMs)).front();
  }
  /// As a tool does it that knows nothing of us: an offset without metadata.
  void move_group(const std::string& topic, std::int64_t offset) {
    const std::vector<kafka::GroupOffset> offsets{{{topic, 0}, offset, {}}};
    const auto result = host()->commit_and_wait("connect-" + topic, offsets, kTimeoutMs);
    if (result.outcome != kafka::CommitOutcome::Committed) FAIL(result.why);
  }

  /// How often each offset of partition 0 was delivered.
  std::map<std::int64_t, int> times() const {
    std::map<std::int64_t, int> count;
    for (const auto& line : ledger()) ++count[line.offset];
    return count;
  }
  /// Every offset of [0, end) exactly once, and nothing else.
  bool all_once(std::int64_t end) const {
    const auto count = times();
    return count.size() == static_cast<std::size_t>(end) && count.rbegin()->first == end - 1 &&
           std::all_of(count.begin(), count.end(), [](const auto& one) { return one.second == 1; });
  }

 private:
  int sent_ = 0;
};

}  // namespace sluice::tests
