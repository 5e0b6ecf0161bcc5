#include "host/job/log_sampler.hpp"

#include <map>
#include <set>
#include <utility>

namespace sluice::job {
namespace {

constexpr int kTimeoutMs = 5000;

using Partitions = std::vector<kafka::TopicPartition>;
using Questions = std::vector<LogSampler::Question>;
using Samples = std::vector<LogSampler::Sample>;

std::string why_of(const kafka::ResolvedOffset& resolved) {
  return resolved.where.topic + "-" + std::to_string(resolved.where.partition) + ": " +
         (resolved.error ? resolved.error->message() : "no answer");
}

Partitions partitions_of(const Questions& questions) {
  Partitions partitions;
  partitions.reserve(questions.size());
  for (const auto& question : questions) partitions.push_back(question.where);
  return partitions;
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

/// In the order of the questions, as `samples` are.
void judge_short_ones(kafka::HostClient& uncommitted, const Questions& questions,
                      Samples& samples) {
  Partitions partitions;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!samples[i].end || *samples[i].end >= questions[i].promised) continue;
    partitions.push_back(samples[i].where);
    numbers.push_back(i);
  }
  if (partitions.empty()) return;
  const auto highs = uncommitted.offsets(partitions, kafka::LogPoint::latest(), kTimeoutMs);
  for (std::size_t i = 0; i < highs.size(); ++i) {
    auto& sample = samples[numbers[i]];
    const auto promised = questions[numbers[i]].promised;
    if (highs[i].offset && *highs[i].offset < promised) continue;  // too short for good
    sample.is_held_back = highs[i].offset.has_value();
    sample.why = sample.is_held_back
                     ? sample.where.topic + "-" + std::to_string(sample.where.partition) +
                           ": an open transaction hides what is behind offset " +
                           std::to_string(*sample.end) + ", the position is " +
                           std::to_string(promised)
                     : why_of(highs[i]);
    sample.end.reset();
  }
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

LogSampler::LogSampler(kafka::HostClient& client, kafka::HostClient& uncommitted,
                       SerialThread& kafka_thread, EventLoop& loop)
    : client_{client},
      uncommitted_{uncommitted},
      kafka_thread_{kafka_thread},
      loop_{loop},
      leaders_{std::make_shared<Leaders>()} {}

LogSampler::~LogSampler() = default;

void LogSampler::ends(Questions questions, Answer answer) {
  ask_on(
      kafka_thread_, loop_, lifetime_.token(),
      [&client = client_, &uncommitted = uncommitted_, leaders = leaders_,
       questions = std::move(questions)] {
        auto samples = sample_ends(client, partitions_of(questions));
        judge_short_ones(uncommitted, questions, samples);
        leaders->mark_changes(client, samples);
        return samples;
      },
      [answer = std::move(answer)](const Samples& samples) { answer(samples); });
}

void LogSampler::lows(Questions questions, Answer answer) {
  ask_on(
      kafka_thread_, loop_, lifetime_.token(),
      [&client = client_, &uncommitted = uncommitted_, questions = std::move(questions)] {
        const auto partitions = partitions_of(questions);
        auto samples = sample_ends(client, partitions);
        judge_short_ones(uncommitted, questions, samples);
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
