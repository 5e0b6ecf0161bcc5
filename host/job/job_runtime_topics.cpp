// JobRuntime's topics: those that are found, what the store knows of their partitions, those that
// vanish and come back (slicer.md F5), and what a user should know about how they will be run.
#include <algorithm>
#include <utility>

#include "host/job/job_runtime.hpp"

namespace sluice::job {

/// A4: accepted, for partitions may be added; but a user who asked for speed should know.
void JobRuntime::warn_of_idle_workers() const {
  const auto tasks = static_cast<std::size_t>(plan_.config.tasks_max);
  const bool by_partition = plan_.config.slicer_assignment != config::Assignment::Any;
  if (!by_partition || resolved_.size() >= tasks) return;
  log_.warning("tasks.max is " + std::to_string(tasks) + ", partitions are " +
               std::to_string(resolved_.size()) + ": " + std::to_string(tasks - resolved_.size()) +
               " workers will idle");
}

/// With topics.regex the topics come one by one: each gets the next number, and the workers that
/// run are told. False: there are more than the workers' table holds.
bool JobRuntime::learn_topic(const std::string& topic) {
  if (std::find(topics_.begin(), topics_.end(), topic) != topics_.end()) return true;
  if (topics_.size() >= ipc::kTopicsMax) {
    log_.limited(log::Level::Error, "topics.regex",
                 "topics.regex matches more than " + std::to_string(ipc::kTopicsMax) + " topics; " +
                     topic + " and others are not read");
    return false;
  }
  const auto index = static_cast<std::uint16_t>(topics_.size());
  topics_.push_back(topic);
  for (const auto& worker : links_) {
    if (!worker) continue;
    if (const auto told = worker->publish_topic(index, topic); !told) {
      log_.with_worker(worker->slot()).error(told.error().message());
      violated(worker->slot(), worker->incarnation(), "command_ring_full");
    }
  }
  return true;
}

/// What the cluster says is missing now; a topic that comes back is another one until its records
/// prove the contrary.
void JobRuntime::note_absent_topics(const std::vector<TopicSighting>& sightings) {
  for (const auto& sighting : sightings) {
    if (sighting.partitions) continue;
    absent_topics_.insert(sighting.topic);
    std::erase_if(unanswered_, [&](const auto& one) { return one.first.topic == sighting.topic; });
  }
}

void JobRuntime::add_partition(const FoundPartition& found,
                               const std::vector<TopicSighting>& sightings) {
  slicer::FoundPartition partition;
  partition.tp = tp_of(found.where);
  const auto tp = partition.tp;
  partition.start_offset = found.start;
  partition.low = found.low;
  partition.end = found.end;
  if (plan_.config.mode == config::Mode::Once) {
    partition.once_end = stored_.once_end(found.where).value_or(std::max(found.end, found.start));
  }
  const bool told = first_discovery_ && plan_.from.has_value();
  auto known = stored_.topic(found.where.topic);
  std::uint32_t counted = 0;
  for (const auto& sighting : sightings) {
    if (sighting.topic != found.where.topic || !sighting.partitions) continue;
    counted = static_cast<std::uint32_t>(*sighting.partitions);
    // A user who says where to start in what was recreated has seen that it was.
    if (told && *sighting.partitions < known.partitions) known = {known.incarnation + 1, 0};
  }
  if (const auto stored = stored_.partitions.extract(found.where)) {
    restore(partition, stored.mapped(), known);
  }
  // One that is too low may be an open transaction's doing: the sampler finds out (F5).
  const auto ends_before = [&](const state::SliceRow& row) { return row.end > found.end; };
  const auto& restored = partition.slices;
  if (found.end < found.start || std::any_of(restored.begin(), restored.end(), ends_before)) {
    partition.end.reset();
  }
  if (topics_added_.insert(tp.topic).second) {
    const auto remembered = stored_.first_count(found.where.topic, known.incarnation);
    slicer_->add_topic(tp.topic, found.where.topic, known.incarnation, known.partitions,
                       remembered > 0 ? remembered : counted);
  }
  resolved_.insert(found.where);
  // The group may have another store's word; ours takes its place, also where nothing moves (S4).
  if (told && partition.row) committer_->advance(found.where, found.start);
  if (partition.row) committer_->know(found.where, found.start);
  log_.info(text_of(tp) + " starts at " + std::to_string(found.start) + " (" + found.reason +
            "), log is " + std::to_string(found.low) + ".." + std::to_string(found.end));
  slicer_->partition_found(std::move(partition), now());
  if (found.low > found.start) {
    slicer_->low_observed(tp, found.low, found.end, now());
  }
}

/// Its stored row holds, unless a user moves the job away from it or the topic was recreated.
void JobRuntime::restore(slicer::FoundPartition& partition, const state::PartitionRow& row,
                         const KnownTopic& known) {
  const bool told = first_discovery_ && plan_.from.has_value();
  const auto start = partition.start_offset;
  const bool same_topic = row.topic_incarnation == known.incarnation;
  if (!same_topic || row.frontier != start) {
    // The row's slices are about the old place.
    partition.reset = true;
    if (same_topic) record_passed(row, start);
    partition.lowered_from = std::max(row.frontier, row.lowered_from);
    if (!same_topic && partition.once_end) partition.once_end = std::max(*partition.end, start);
    return;
  }
  partition.row = row;
  if (auto slices = stored_.slices.extract({row.topic, row.partition})) {
    partition.slices = std::move(slices.mapped());
  }
  std::erase_if(partition.slices, [&](const state::SliceRow& slice) {
    return slice.topic_incarnation != row.topic_incarnation;
  });
  if (absent_topics_.contains(row.topic)) partition.doubt = slicer::Doubt::WasAbsent;
  if (told) partition.doubt = slicer::Doubt::None;
}

/// To the slicer, once the partitions that are new are known to it.
void JobRuntime::tell_topics(const std::vector<TopicSighting>& sightings) {
  for (const auto& sighting : sightings) {
    const auto at = std::find(topics_.begin(), topics_.end(), sighting.topic);
    const auto topic = static_cast<std::uint16_t>(at - topics_.begin());
    if (at == topics_.end() || !topics_added_.contains(topic)) continue;
    if (!sighting.partitions) {
      slicer_->topic_absent(topic);
      continue;
    }
    if (absent_topics_.erase(sighting.topic) > 0) {
      log_.info("topic " + sighting.topic + " exists again, with " +
                std::to_string(*sighting.partitions) + " partitions");
    }
    slicer_->topic_present(topic, *sighting.partitions, now());
  }
}

}  // namespace sluice::job
