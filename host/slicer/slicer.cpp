#include "host/slicer/slicer.hpp"

#include <utility>

#include "host/slicer/core.hpp"

namespace sluice::slicer {

Slicer::Slicer(const SlicerOptions& options, Random random)
    : core_{std::make_unique<Core>(options, random)} {}
Slicer::~Slicer() = default;

void Slicer::add_topic(std::uint16_t topic, std::string name, std::uint32_t incarnation,
                       std::int32_t partitions_known, std::uint32_t partitions_first) {
  core_->add_topic(topic, std::move(name), incarnation, partitions_known, partitions_first);
}
void Slicer::partition_found(FoundPartition found, Milliseconds now) {
  core_->partition_found(std::move(found), now);
}
void Slicer::discovery_done(Milliseconds now) {
  core_->discovery_done(now);
}
void Slicer::end_observed(TopicPartition tp, std::int64_t end, LeaderChange leader,
                          Milliseconds now) {
  core_->end_observed(tp, end, leader, now);
}
void Slicer::low_observed(TopicPartition tp, std::int64_t low, std::int64_t end, Milliseconds now) {
  core_->low_observed(tp, low, end, now);
}
void Slicer::topic_absent(std::uint16_t topic) {
  core_->topic_absent(topic);
}
void Slicer::topic_present(std::uint16_t topic, std::int32_t count, Milliseconds now) {
  core_->topic_present(topic, count, now);
}
void Slicer::sample_failed(TopicPartition tp, Milliseconds now) {
  core_->sample_failed(tp, now);
}
void Slicer::worker_ready(Slot slot, WorkerIdentity worker, Milliseconds now) {
  core_->worker_ready(slot, worker, now);
}
void Slicer::report(Slot slot, std::uint64_t incarnation, const ipc::Report& report,
                    std::string_view text, Milliseconds now) {
  core_->report(slot, incarnation, report, text, now);
}
void Slicer::worker_lost(Slot slot, std::uint64_t incarnation, const Accusation& accusation,
                         Milliseconds now) {
  core_->worker_lost(slot, incarnation, accusation, now);
}
void Slicer::set_slots(std::uint32_t tasks, Milliseconds now) {
  core_->set_slots(tasks, now);
}
RecoveryStart Slicer::recover(TopicPartition tp, const std::vector<state::SliceRow>& rows,
                              Milliseconds now) {
  return core_->recover(tp, rows, now);
}

void Slicer::halt_all(const state::SliceError& why, Milliseconds now) {
  core_->halt_all(why, now);
}
void Slicer::restart_halted(Milliseconds now) {
  core_->restart_halted(now);
}
void Slicer::restart_halted(TopicPartition tp, Milliseconds now) {
  core_->restart_halted(tp, now);
}
void Slicer::pause() {
  core_->pause();
}

void Slicer::resume(Milliseconds now) {
  core_->resume(now);
}

void Slicer::stop(Milliseconds now) {
  core_->stop(now);
}
void Slicer::set_slices_per_second_max(std::uint32_t slices) {
  core_->set_slices_per_second_max(slices);
}
void Slicer::step(Milliseconds now, Actions& actions) {
  core_->step(now, actions);
}
std::optional<Milliseconds> Slicer::next_deadline() const {
  return core_->next_deadline();
}
bool Slicer::has_changes() const {
  return core_->has_changes();
}
state::ChangeSet Slicer::take_changes(Milliseconds now) {
  return core_->take_changes(now);
}
std::vector<FrontierCommit> Slicer::persisted(std::uint64_t token, Milliseconds now) {
  return core_->persisted(token, now);
}
Snapshot Slicer::snapshot(Milliseconds now) const {
  return core_->snapshot(now);
}
const SlicerCounts& Slicer::counts() const {
  return core_->counts();
}
bool Slicer::isolating(Slot slot) const {
  return core_->isolating(slot);
}

std::int64_t Slicer::promised_end(TopicPartition tp) const {
  return core_->promised_end(tp);
}
std::size_t Slicer::in_flight(Slot slot) const {
  return core_->in_flight(slot);
}
std::optional<state::SliceRow> Slicer::flight(Slot slot, std::uint64_t slice_id) const {
  return core_->flight(slot, slice_id);
}
std::vector<state::SliceRow> Slicer::open_slices() const {
  return core_->open_slices();
}

}  // namespace sluice::slicer
