#include "host/job/log_sampler.hpp"

#include <map>
#include <set>
#include <utility>

namespace sluice::job {
namespace {

constexpr int kTimeoutMs = 5000;

using Partitions = std::vector<kafka::TopicPartition>;
using Samples = std::vector<LogSampler::Sample>;

std::string why_of(const kafka::ResolvedOffset& resolved) {
  return resolved.where.topic + "-" + std::to_string(resolved.where.partition) + ": " +
         (resolved.error ? resolved.error->message() : "no answer");
}

Samples sample_ends(kafka::HostClient& client, const Partitions& partitions) {
  Samples samples;
  samples.reserve(partitions.size());
  for (auto& resolved : client.offsets(partitions, kafka::LogPoint::latest(), kTimeoutMs)) {
    LogSampler::Sample sample;
    if (!resolved.offset) sample.why = why_of(resolved);
    sample.where = std::move(resolved.where);
    sample.end = resolved.offset;
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

struct LogSampler::Leaders {
  using OfTopics = std::map<std::string, std::vector<std::optional<std::int32_t>>>;

  OfTopics known;  ///< by partition number

  // Asked after the ends, so that a change that the ends may show is seen. The first time, and
  // without an answer, nobody knows.
  void mark_changes(kafka::HostClient& client, Samples& samples) {
    std::set<std::string> names;
    for (const auto& sample : samples) names.insert(sample.where.topic);
    const std::vector<std::string> topics(names.begin(), names.end());
    const auto described = client.describe_topics(topics, kTimeoutMs);
    OfTopics current;
    if (described) {
      for (const auto& topic : *described) {
        for (const auto& partition : topic.partitions) {
          at(current, {topic.name, partition.partition}) = partition.leader;
        }
      }
    }
    for (auto& sample : samples) {
      auto& before = at(known, sample.where);
      const auto after = at(current, sample.where);
      sample.leader = slicer::LeaderChange::Unknown;
      if (!after) continue;
      if (before) {
        const bool same = *before == *after;
        sample.leader = same ? slicer::LeaderChange::None : slicer::LeaderChange::Seen;
      }
      before = after;
    }
  }

  static std::optional<std::int32_t>& at(OfTopics& leaders, const kafka::TopicPartition& where) {
    auto& of_topic = leaders[where.topic];
    const auto number = static_cast<std::size_t>(where.partition);
    if (number >= of_topic.size()) of_topic.resize(number + 1);
    return of_topic[number];
  }
};

LogSampler::LogSampler(kafka::HostClient& client, SerialThread& kafka_thread, EventLoop& loop)
    : client_{client},
      kafka_thread_{kafka_thread},
      loop_{loop},
      leaders_{std::make_shared<Leaders>()} {}

LogSampler::~LogSampler() = default;

void LogSampler::ends(Partitions partitions, Answer answer) {
  ask_on(
      kafka_thread_, loop_, lifetime_.token(),
      [&client = client_, leaders = leaders_, partitions = std::move(partitions)] {
        auto samples = sample_ends(client, partitions);
        leaders->mark_changes(client, samples);
        return samples;
      },
      [answer = std::move(answer)](const Samples& samples) { answer(samples); });
}

void LogSampler::lows(Partitions partitions, Answer answer) {
  ask_on(
      kafka_thread_, loop_, lifetime_.token(),
      [&client = client_, partitions = std::move(partitions)] {
        auto samples = sample_ends(client, partitions);
        const auto lows = client.offsets(partitions, kafka::LogPoint::earliest(), kTimeoutMs);
        for (std::size_t i = 0; i < samples.size(); ++i) {
          samples[i].low = lows[i].offset;
          if (!lows[i].offset) samples[i].why = why_of(lows[i]);
        }
        return samples;
      },
      [answer = std::move(answer)](const Samples& samples) { answer(samples); });
}

}  // namespace sluice::job
