#include "host/job/discovery.hpp"

#include <unordered_map>
#include <utility>

namespace sluice::job {
namespace {

constexpr int kMetadataTimeoutMs = 10'000;
constexpr int kOffsetsTimeoutMs = 10'000;

using Offsets = std::vector<kafka::ResolvedOffset>;

std::string name_of(const kafka::TopicPartition& where) {
  return where.topic + "-" + std::to_string(where.partition);
}

// The partitions that nobody has resolved yet. A topic that cannot be read now is noted and
// skipped: it is not a failure (slicer.md 4), the slices of others go on.
Result<std::vector<kafka::TopicPartition>> new_partitions(kafka::HostClient& client,
                                                          const DiscoveryRequest& request,
                                                          Discovery& discovery) {
  const auto topics = client.describe_topics(request.topics, kMetadataTimeoutMs);
  if (!topics) return topics.error();
  std::vector<kafka::TopicPartition> fresh;
  for (const auto& topic : *topics) {
    if (topic.state == kafka::TopicState::Missing) {
      discovery.waiting.push_back({topic.name, "the topic does not exist"});
      continue;
    }
    if (topic.state == kafka::TopicState::Unreadable) {
      discovery.waiting.push_back({topic.name, topic.why});
      continue;
    }
    for (const auto& partition : topic.partitions) {
      kafka::TopicPartition where{topic.name, partition.partition};
      if (!request.resolved.contains(where)) fresh.push_back(std::move(where));
    }
  }
  return fresh;
}

// Every offset or the first error: a partition whose log cannot be asked for is not decided about.
Result<std::vector<std::int64_t>> all_of(const Offsets& offsets) {
  std::vector<std::int64_t> values;
  values.reserve(offsets.size());
  for (const auto& resolved : offsets) {
    if (resolved.error) return resolved.error->with_context(name_of(resolved.where));
    values.push_back(resolved.offset.value_or(-1));
  }
  return values;
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

Result<LogView> look_at_logs(kafka::HostClient& client, const DiscoveryRequest& request,
                             const std::vector<kafka::TopicPartition>& partitions) {
  LogView view;
  const auto ask = [&](kafka::LogPoint point, std::vector<std::int64_t>& into) -> Result<> {
    auto values = all_of(client.offsets(partitions, point, kOffsetsTimeoutMs));
    if (!values) return values.error();
    into = *std::move(values);
    return {};
  };
  SLUICE_TRY(ask(kafka::LogPoint::earliest(), view.low));
  SLUICE_TRY(ask(kafka::LogPoint::latest(), view.end));
  if (const auto timestamp = wanted_timestamp(request)) {
    SLUICE_TRY(ask(kafka::LogPoint::timestamp(*timestamp), view.at_timestamp));
  }
  auto committed = client.committed(request.group, partitions, kOffsetsTimeoutMs);
  if (!committed) return committed.error().with_context("offsets of group " + request.group);
  view.committed = *std::move(committed);
  return view;
}

StartQuestion question_for(const DiscoveryRequest& request, const kafka::TopicPartition& where,
                           const LogView& view, std::size_t index) {
  StartQuestion question;
  question.job = request.job;
  question.partition_name = name_of(where);
  question.store_id = request.store_id;
  if (const auto row = request.frontiers.find(where); row != request.frontiers.end()) {
    question.frontier = row->second;
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

}  // namespace

Result<Discovery> discover(kafka::HostClient& client, const DiscoveryRequest& request) {
  Discovery discovery;
  const auto fresh = new_partitions(client, request, discovery);
  if (!fresh) return fresh.error();
  if (fresh->empty()) return discovery;
  const auto view = look_at_logs(client, request, *fresh);
  if (!view) return view.error();

  for (std::size_t i = 0; i < fresh->size(); ++i) {
    auto decision = decide_start(question_for(request, (*fresh)[i], *view, i));
    if (auto* refusal = std::get_if<Refusal>(&decision)) {
      discovery.found.clear();
      discovery.refusal = std::move(*refusal);
      return discovery;
    }
    auto& start = std::get<StartAt>(decision);
    if (!start.warning.empty()) discovery.warnings.push_back(std::move(start.warning));
    discovery.found.push_back(
        {(*fresh)[i], start.offset, view->low[i], view->end[i], std::move(start.reason)});
  }
  return discovery;
}

}  // namespace sluice::job
