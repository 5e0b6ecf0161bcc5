#include "host/job/discovery.hpp"

#include <algorithm>
#include <utility>

namespace sluice::job {
namespace {

constexpr int kMetadataTimeoutMs = 10'000;
constexpr int kOffsetsTimeoutMs = 10'000;

using Offsets = std::vector<kafka::ResolvedOffset>;

std::string name_of(const kafka::TopicPartition& where) {
  return where.topic + "-" + std::to_string(where.partition);
}

Result<std::vector<kafka::TopicInfo>> look_at_topics(kafka::HostClient& client,
                                                     const DiscoveryRequest& request) {
  if (!request.pattern) return client.describe_topics(request.topics, kMetadataTimeoutMs);
  auto all = client.list_topics(kMetadataTimeoutMs);
  if (!all) return all;
  std::erase_if(*all, [&](const auto& topic) { return !request.pattern->matches(topic.name); });
  auto gone = request.resolved.topics();  // those that are in no list any more
  for (const auto& topic : *all) gone.erase(topic.name);
  for (const auto& name : gone) all->push_back({name, kafka::TopicState::Missing, "", {}});
  return all;
}

// The partitions that nobody has resolved yet. A topic that cannot be read now is noted and
// skipped: it is not a failure (slicer.md 4), the slices of others go on.
Result<std::vector<kafka::TopicPartition>> new_partitions(kafka::HostClient& client,
                                                          const DiscoveryRequest& request,
                                                          Discovery& discovery) {
  const auto topics = look_at_topics(client, request);
  if (!topics) return topics.error();
  if (topics->empty()) {
    discovery.waiting.push_back({request.pattern->text(), "topics.regex matches no topic"});
  }
  std::vector<kafka::TopicPartition> fresh;
  for (const auto& topic : *topics) {
    if (topic.state == kafka::TopicState::Missing) {
      discovery.waiting.push_back({topic.name, "the topic does not exist"});
      discovery.topics.push_back({topic.name, std::nullopt});
      continue;
    }
    if (topic.state == kafka::TopicState::Unreadable) {
      discovery.waiting.push_back({topic.name, topic.why});
      continue;
    }
    discovery.topics.push_back({topic.name, static_cast<std::int32_t>(topic.partitions.size())});
    kafka::TopicPartition where{topic.name, 0};
    for (const auto& partition : topic.partitions) {
      where.partition = partition.partition;
      if (!request.resolved.contains(where)) fresh.push_back(where);
    }
  }
  return fresh;
}

std::vector<std::int64_t> values_of(const Offsets& offsets) {
  std::vector<std::int64_t> values;
  values.reserve(offsets.size());
  for (const auto& resolved : offsets) values.push_back(resolved.offset.value_or(-1));
  return values;
}

/// Whether the others may go on without it: where it starts is the same when it is asked about
/// later.
bool may_wait(const DiscoveryRequest& request, const kafka::TopicPartition& where) {
  if (request.from) return false;
  const bool is_stored = request.frontiers && request.frontiers->contains(where);
  return is_stored || request.appeared == StartQuestion::Appeared::Later;
}

/// One line a topic: a broker that is down may have thousands of partitions.
void note_unreadable(const std::string& topic, const Error& why, Discovery& discovery) {
  const auto noted = std::find_if(discovery.waiting.begin(), discovery.waiting.end(),
                                  [&](const auto& problem) { return problem.topic == topic; });
  if (noted == discovery.waiting.end()) discovery.waiting.push_back({topic, why.message()});
}

/// A partition whose log cannot be asked for now is not decided about. `asked`: the answers to each
/// question, in the order of the partitions.
Result<> leave_out_unreadable(const DiscoveryRequest& request,
                              std::vector<kafka::TopicPartition>& partitions,
                              std::vector<Offsets>& asked, Discovery& discovery) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const auto failed = std::find_if(asked.begin(), asked.end(), [i](const Offsets& offsets) {
      return offsets[i].error.has_value();
    });
    if (failed != asked.end()) {
      const auto& error = *(*failed)[i].error;
      if (!may_wait(request, partitions[i])) return error.with_context(name_of(partitions[i]));
      note_unreadable(partitions[i].topic, error, discovery);
      continue;
    }
    if (kept != i) {
      partitions[kept] = std::move(partitions[i]);
      for (auto& offsets : asked) offsets[kept] = std::move(offsets[i]);
    }
    ++kept;
  }
  partitions.resize(kept);
  for (auto& offsets : asked) offsets.resize(kept);
  return {};
}

std::optional<std::int64_t> wanted_timestamp(const DiscoveryRequest& request) {
  if (request.from && request.from->kind == StartFrom::Kind::Timestamp) {
    return request.from->timestamp_ms;
  }
  return request.start_timestamp_ms;
}

struct LogView {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> at_timestamp;  // empty, or -1 where no record is that new
  std::vector<kafka::CommittedOffset> committed;
};

/// Of those that can be looked at; `partitions` are they then.
Result<LogView> look_at_logs(kafka::HostClient& client, const DiscoveryRequest& request,
                             std::vector<kafka::TopicPartition>& partitions, Discovery& discovery) {
  std::vector<Offsets> asked;
  const auto ask = [&](kafka::LogPoint point) {
    asked.push_back(client.offsets(partitions, point, kOffsetsTimeoutMs));
  };
  ask(kafka::LogPoint::earliest());
  ask(kafka::LogPoint::latest());
  if (const auto timestamp = wanted_timestamp(request)) ask(kafka::LogPoint::timestamp(*timestamp));
  SLUICE_TRY(leave_out_unreadable(request, partitions, asked, discovery));
  LogView view;
  if (partitions.empty()) return view;
  view.low = values_of(asked[0]);
  view.end = values_of(asked[1]);
  if (asked.size() > 2) view.at_timestamp = values_of(asked[2]);
  auto committed = client.committed(request.group, partitions, kOffsetsTimeoutMs);
  if (!committed) return committed.error().with_context("offsets of group " + request.group);
  view.committed = *std::move(committed);
  return view;
}

/// Before the offsets are read: what a member commits on its way out must be among them. Where the
/// group cannot be described, claim_offsets() alone has to do.
Result<bool> has_members(kafka::HostClient& client, const std::string& group) {
  const auto described = client.describe_group(group, kOffsetsTimeoutMs);
  if (described) return !described->members.empty();
  const auto code = described.error().code();
  if (code == ErrorCode::Incompatible || code == ErrorCode::NotFound) return false;
  return described.error();
}

/// S3: the group's offsets are committed again unchanged, which a group with members refuses,
/// whatever its protocol; descriptions know the classic one only.
Result<bool> claim_offsets(kafka::HostClient& client, const std::string& group,
                           const std::vector<kafka::CommittedOffset>& committed,
                           Discovery& discovery) {
  std::vector<kafka::GroupOffset> same;
  for (const auto& found : committed) {
    if (found.offset) same.push_back({found.where, *found.offset, found.metadata});
  }
  if (same.empty()) return true;
  const auto result = client.commit_and_wait(group, same, kOffsetsTimeoutMs);
  switch (result.outcome) {
    case kafka::CommitOutcome::Committed:
      return true;
    case kafka::CommitOutcome::ActiveMembers:
      return false;
    case kafka::CommitOutcome::Unavailable:
      return Error{ErrorCode::KafkaUnavailable, "commit to group " + group + ": " + result.why};
    case kafka::CommitOutcome::Refused:
      break;
  }
  discovery.warnings.push_back("commit to group " + group + " is refused: " + result.why +
                               "; the job runs, but lag tools do not see how far it is");
  return true;
}

StartQuestion question_for(const DiscoveryRequest& request, const kafka::TopicPartition& where,
                           const LogView& view, std::size_t index) {
  StartQuestion question;
  question.job = request.job;
  question.partition_name = name_of(where);
  question.store_id = request.store_id;
  if (request.frontiers) {
    if (const auto row = request.frontiers->find(where); row != request.frontiers->end()) {
      question.recreated = row->second.outdated;
      question.lowered_from = row->second.lowered_from;
      if (!row->second.outdated) question.frontier = row->second.frontier;
    }
  }
  if (const auto& committed = view.committed[index]; committed.offset) {
    question.group = GroupOffset{*committed.offset, committed.metadata};
  }
  question.low = view.low[index];
  question.end = view.end[index];
  question.reset = request.reset;
  question.from = request.from;
  question.appeared = request.appeared;
  if (!view.at_timestamp.empty()) {
    const auto offset = view.at_timestamp[index];
    question.timestamp_offset = offset >= 0 ? offset : view.end[index];
  }
  return question;
}

Discovery taken(const std::string& group) {
  Discovery discovery;
  discovery.conflict = active_members(group);
  return discovery;
}

/// Where each of `fresh` starts, or the first refusal.
void decide_starts(const DiscoveryRequest& request, const std::vector<kafka::TopicPartition>& fresh,
                   const LogView& view, Discovery& discovery) {
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    auto decision = decide_start(question_for(request, fresh[i], view, i));
    if (auto* refusal = std::get_if<Refusal>(&decision)) {
      discovery.found.clear();
      discovery.refusal = std::move(*refusal);
      return;
    }
    auto& start = std::get<StartAt>(decision);
    if (!start.warning.empty()) discovery.warnings.push_back(std::move(start.warning));
    discovery.found.push_back(
        {fresh[i], start.offset, view.low[i], view.end[i], std::move(start.reason)});
  }
}

}  // namespace

std::string active_members(const std::string& group) {
  return "group " + group + " has active members: stop the Kafka Connect connector first";
}

Result<Discovery> discover(kafka::HostClient& client, const DiscoveryRequest& request) {
  Discovery discovery;
  if (request.dead_letters) {
    auto ensured = ensure_topic(client, *request.dead_letters);
    if (!ensured) return ensured.error();
    discovery.refusal = std::move(ensured->refusal);
    if (discovery.refusal) return discovery;
    if (ensured->is_new) {
      discovery.notes.push_back("dead letter topic " + request.dead_letters->name +
                                " created: 1 partition, replication factor " +
                                std::to_string(request.dead_letters->replication));
    }
  }
  auto fresh = new_partitions(client, request, discovery);
  if (!fresh) return fresh.error();
  if (fresh->empty()) return discovery;
  const auto members = has_members(client, request.group);
  if (!members) return members.error();
  if (*members) return taken(request.group);
  const auto view = look_at_logs(client, request, *fresh, discovery);
  if (!view) return view.error();
  if (fresh->empty()) return discovery;
  decide_starts(request, *fresh, *view, discovery);
  if (discovery.refusal) return discovery;
  const auto ours = claim_offsets(client, request.group, view->committed, discovery);
  if (!ours) return ours.error();
  if (!*ours) return taken(request.group);
  return discovery;
}

}  // namespace sluice::job
