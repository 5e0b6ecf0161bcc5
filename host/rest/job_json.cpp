#include "host/rest/job_json.hpp"

#include <algorithm>
#include <string_view>

#include "host/rest/row_json.hpp"

namespace sluice::rest {
namespace json = boost::json;

namespace {

std::string_view partition_state_name(slicer::PartitionState state) {
  switch (state) {
    case slicer::PartitionState::Running:
      return "RUNNING";
    case slicer::PartitionState::Idle:
      return "IDLE";
    case slicer::PartitionState::Waiting:
      return "WAITING";
    case slicer::PartitionState::Halted:
      return "HALTED";
    case slicer::PartitionState::Finished:
      return "FINISHED";
  }
  return "UNKNOWN";
}

/// Numbers that are not known yet are null, never -1.
json::value known(std::int64_t offset) {
  return offset < 0 ? json::value(nullptr) : json::value(offset);
}

std::int64_t lag_of(const job::JobStatus& status) {
  std::int64_t lag = 0;
  for (const auto& partition : status.slices.partitions) lag += partition.lag;
  return lag;
}

bool is_up(supervisor::WorkerState state) {
  return state == supervisor::WorkerState::Ready || state == supervisor::WorkerState::Running;
}

json::object place_of(const job::JobStatus& status, const slicer::PartitionStatus& partition) {
  return {{"topic", status.topics[partition.tp.topic]},
          {"partition", partition.tp.partition},
          {"lane", partition.lane},
          {"start", partition.start_offset},
          {"frontier", partition.frontier},
          {"durable_frontier", known(partition.durable_frontier)},
          {"end", known(partition.visible_end)},
          {"lag", partition.lag}};
}

json::object partition_json(const job::JobStatus& status,
                            const slicer::PartitionStatus& partition) {
  auto object = place_of(status, partition);
  object["state"] = partition_state_name(partition.state);
  object["wait"] = slicer::wait_reason_name(partition.wait);
  object["worker"] =
      partition.slot == slicer::kNoSlot ? json::value(nullptr) : json::value(partition.slot);
  object["in_flight"] = partition.in_flight;
  object["slices_settled"] = partition.slices_settled;
  object["records_in"] = partition.totals.in;
  if (partition.attempt > 0) object["attempt"] = partition.attempt;
  if (partition.halted_at >= 0) object["halted_at"] = partition.halted_at;
  if (!partition.text.empty()) object["text"] = partition.text;
  return object;
}

json::object worker_json(const job::JobStatus& status, const supervisor::SlotStatus& worker) {
  json::object object{{"slot", worker.slot},
                      {"state", job::worker_state_text(worker, status.taken_at)},
                      {"pid", worker.pid},
                      {"incarnation", worker.incarnation},
                      {"phase", ipc::phase_name(worker.phase)},
                      {"since_ms", (status.taken_at - worker.since).count()},
                      {"restarts", worker.restarts},
                      {"losses_in_a_row", worker.losses_in_a_row}};
  if (worker.still_since) {
    object["still_ms"] = (status.taken_at - *worker.still_since).count();
  }
  if (worker.respawn_at) {
    const auto delay = std::max(Milliseconds{0}, *worker.respawn_at - status.taken_at);
    object["respawn_in_ms"] = delay.count();
  }
  if (worker.last_loss) {
    const auto& loss = *worker.last_loss;
    object["last_loss"] = json::object{{"cause", slicer::loss_cause_name(loss.cause)},
                                       {"phase", ipc::phase_name(loss.phase)},
                                       {"slice", loss.slice_id},
                                       {"text", loss.text}};
  }
  for (const auto& slot : status.slices.slots) {
    if (slot.slot != worker.slot) continue;
    object["partitions"] = slot.partitions;
    object["in_flight"] = slot.in_flight;
    object["suspects"] = slot.suspects;
  }
  return object;
}

json::object counts_json(const slicer::SlicerCounts& counts) {
  return {{"published", counts.published},
          {"completed", counts.completed},
          {"released", counts.released},
          {"failed", counts.failed},
          {"redelivered", counts.redelivered},
          {"charged", counts.charged},
          {"isolated", counts.isolated},
          {"dead_lettered", counts.dead_lettered},
          {"parked", counts.parked},
          {"skipped", counts.skipped},
          {"moves", counts.moves},
          {"violations", counts.violations}};
}

}  // namespace

json::object summary_json(const job::JobStatus& status) {
  const auto& workers = status.workers;
  json::array waiting;
  for (const auto& line : status.waiting) waiting.emplace_back(line);
  json::object object{
      {"name", status.name},
      {"state", job::job_state_name(status.state)},
      {"mode", status.mode == job::JobStatus::Mode::Once ? "once" : "persistent"},
      {"execution", status.execution},
      {"tasks", workers.size()},
      {"workers_up", std::count_if(workers.begin(), workers.end(),
                                   [](const auto& worker) { return is_up(worker.state); })},
      {"partition_count", status.slices.partitions.size()},
      {"halted", status.slices.halted},
      {"lag", lag_of(status)},
      {"records_in", status.slices.totals.in},
      {"worker_restarts", status.worker_restarts},
      {"elapsed_ms", status.elapsed_ms},
      {"waiting", std::move(waiting)}};
  if (!status.reason.empty()) object["reason"] = status.reason;
  return object;
}

json::array workers_json(const job::JobStatus& status) {
  json::array workers;
  for (const auto& worker : status.workers) workers.push_back(worker_json(status, worker));
  return workers;
}

json::array offsets_json(const job::JobStatus& status) {
  json::array offsets;
  for (const auto& partition : status.slices.partitions) {
    offsets.push_back(place_of(status, partition));
  }
  return offsets;
}

json::object status_json(const job::JobStatus& status) {
  auto object = summary_json(status);
  object["totals"] = json_of(status.slices.totals);
  object["counts"] = counts_json(status.slices.counts);
  json::array partitions;
  for (const auto& partition : status.slices.partitions) {
    partitions.push_back(partition_json(status, partition));
  }
  object["partitions"] = std::move(partitions);
  object["workers"] = workers_json(status);
  return object;
}

}  // namespace sluice::rest
