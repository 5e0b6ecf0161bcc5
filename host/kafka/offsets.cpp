// HostClient::offsets: ends and starts of logs, through rd_kafka_offsets_for_times only (facts 4.6,
// B07).
//
// That call answers for all its partitions or for none: one partition with a moved leader, or one
// broker that is down, spoils the answer of a thousand. So when a round has failed it is repeated
// by leader: fresh metadata (which also cures "not leader"), partitions without a leader set aside,
// the others asked broker by broker with a share of the time, and a broker's list halved until the
// bad partitions stand alone. Rounds stay in that mode until one passes without a failure.
#include <algorithm>
#include <map>
#include <set>

#include "host/kafka/admin.hpp"
#include "host/kafka/deadline.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {

namespace {

/// librdkafka looks each answer up in the list of questions: 1,000 in one call cost 6.5 ms, 10,000
/// cost 794 (facts 0.8). Of 200 that is less than the request itself.
constexpr std::size_t kPartitionsPerRequest = 200;

using Wanted = std::span<ResolvedOffset* const>;

void take_answer(const rd_kafka_topic_partition_t& answer, std::int64_t code,
                 ResolvedOffset& resolved) {
  const auto& [topic, partition] = resolved.where;
  resolved.offset.reset();
  resolved.error.reset();
  if (answer.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    resolved.error = kafka_error("offsets", partition_name(topic, partition), answer.err);
  } else if (answer.offset >= 0) {
    resolved.offset = answer.offset;
  } else if (code < 0) {
    // The question came back as the answer: the broker left this partition out.
    resolved.error = kafka_error("offsets", partition_name(topic, partition),
                                 RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE);
  }
}

/// One library call. A call that fails is the answer of every partition, whatever their own error
/// fields say (B07: they may look clean).
rd_kafka_resp_err_t ask(rd_kafka_t* client, Wanted wanted, std::int64_t code, int timeout_ms) {
  const Handle<rd_kafka_topic_partition_list_t> list{
      rd_kafka_topic_partition_list_new(static_cast<int>(wanted.size()))};
  for (const auto* resolved : wanted) {
    rd_kafka_topic_partition_list_add(list.get(), resolved->where.topic.c_str(),
                                      resolved->where.partition)
        ->offset = code;
  }
  const auto error = rd_kafka_offsets_for_times(client, list.get(), timeout_ms);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto& answer = list->elems[i];
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR && answer.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      answer.err = error;
    }
    take_answer(answer, code, *wanted[i]);
  }
  return error;
}

bool is_silence(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__TIMED_OUT || error == RD_KAFKA_RESP_ERR__TRANSPORT ||
         error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
}

/// Halves the list while the call fails, so that only the partitions at fault keep an error. A
/// broker that does not answer at all would not answer halves either.
void ask_halving(rd_kafka_t* client, Wanted wanted, std::int64_t code, const Deadline& deadline) {
  const auto error = ask(client, wanted, code, deadline.remaining_ms());
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR || is_silence(error) || wanted.size() == 1 ||
      deadline.passed()) {
    return;
  }
  const auto half = wanted.size() / 2;
  ask_halving(client, wanted.first(half), code, deadline);
  ask_halving(client, wanted.subspan(half), code, deadline);
}

template <typename Call>
void in_requests(Wanted wanted, Call call) {
  while (!wanted.empty()) {
    const auto part = wanted.first(std::min(wanted.size(), kPartitionsPerRequest));
    wanted = wanted.subspan(part.size());
    call(part);
  }
}

std::vector<ResolvedOffset*> failed_of(std::span<ResolvedOffset> resolved) {
  std::vector<ResolvedOffset*> failed;
  for (auto& one : resolved) {
    if (one.error) failed.push_back(&one);
  }
  return failed;
}

using ByLeader = std::map<std::int32_t, std::vector<ResolvedOffset*>>;

/// Sorts a partition to its leader, or gives it the reason why it has none.
void place(ResolvedOffset& wanted, const TopicInfo& topic, ByLeader& groups) {
  const auto where = partition_name(wanted.where.topic, wanted.where.partition);
  if (topic.state == TopicState::Unreadable) {
    wanted.error = Error{ErrorCode::Kafka, "offsets: " + where + ": " + topic.why};
    return;
  }
  const auto found = std::find_if(
      topic.partitions.begin(), topic.partitions.end(),
      [&](const auto& partition) { return partition.partition == wanted.where.partition; });
  if (found == topic.partitions.end()) {
    wanted.error = kafka_error("offsets", where, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  } else if (!found->leader) {
    wanted.error = kafka_error("offsets", where, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
  } else {
    groups[*found->leader].push_back(&wanted);
  }
}

}  // namespace

std::vector<ResolvedOffset> HostClient::offsets(std::span<const TopicPartition> partitions,
                                                LogPoint point, int timeout_ms) {
  const Deadline deadline{timeout_ms};
  std::vector<ResolvedOffset> resolved(partitions.size());
  std::vector<ResolvedOffset*> all;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    resolved[i].where = partitions[i];
    all.push_back(&resolved[i]);
  }
  if (!offsets_by_leader_) {
    const Deadline first_half{timeout_ms / 2};
    in_requests(all, [&](Wanted part) {
      ask(client_.get(), part, point.code_, first_half.remaining_ms());
    });
    all = failed_of(resolved);
    if (all.empty()) return resolved;
  }
  resolve_by_leader(all, point, deadline.remaining_ms());
  offsets_by_leader_ = !failed_of(resolved).empty();
  return resolved;
}

void HostClient::resolve_by_leader(std::span<ResolvedOffset* const> wanted, LogPoint point,
                                   int timeout_ms) {
  const Deadline deadline{timeout_ms};
  std::set<std::string> names;
  for (const auto* one : wanted) names.insert(one->where.topic);
  const std::vector<std::string> topics{names.begin(), names.end()};
  const auto described = describe_topics(topics, timeout_ms / 2);
  if (!described) {
    for (auto* one : wanted) one->error = described.error();
    return;
  }
  ByLeader groups;
  for (auto* one : wanted) {
    const auto topic = std::lower_bound(topics.begin(), topics.end(), one->where.topic);
    place(*one, (*described)[static_cast<std::size_t>(topic - topics.begin())], groups);
  }
  auto groups_left = static_cast<int>(groups.size());
  for (const auto& [leader, group] : groups) {
    const Deadline share{deadline.remaining_ms() / groups_left--};
    in_requests(group, [&](Wanted part) { ask_halving(client_.get(), part, point.code_, share); });
  }
}

}  // namespace sluice::kafka
