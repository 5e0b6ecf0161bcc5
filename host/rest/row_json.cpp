#include "host/rest/row_json.hpp"

#include <algorithm>
#include <array>
#include <boost/json/value_from.hpp>
#include <string_view>

#include "host/state/offset_list.hpp"

namespace sluice::rest {
namespace json = boost::json;

namespace {

// By the numbers of rows.hpp.
constexpr std::array<std::string_view, 8> kSliceStates = {
    "ready",     "dispatched", "completed",     "retrying",
    "isolating", "parked",     "dead_lettered", "skipped"};
constexpr std::array<std::string_view, 12> kCauses = {
    "none",           "expired",         "truncated",      "poison",
    "by_user",        "parked",          "dead_lettered",  "released_gate",
    "order_unproved", "proved_by_state", "proved_by_sink", "recreated"};
constexpr std::array<std::string_view, 5> kExecutionStates = {
    "RUNNING", "COMPLETED", "COMPLETED_WITH_GAPS", "FAILED", "STOPPED"};

template <typename Names, typename Value>
std::string_view name_in(const Names& names, Value value) {
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : "unknown";
}

}  // namespace

std::string_view slice_state_name(state::SliceState state) {
  return name_in(kSliceStates, state);
}

std::optional<state::SliceState> slice_state_of(std::string_view name) {
  const auto found = std::find(kSliceStates.begin(), kSliceStates.end(), name);
  if (found == kSliceStates.end()) return std::nullopt;
  return static_cast<state::SliceState>(found - kSliceStates.begin());
}

std::string_view cause_name(state::Cause cause) {
  return name_in(kCauses, cause);
}

std::string_view execution_state_name(state::ExecutionState state) {
  return name_in(kExecutionStates, state);
}

json::object json_of(const state::Counts& counts) {
  return {{"in", counts.in},
          {"out", counts.out},
          {"filtered", counts.filtered},
          {"errant", counts.errant},
          {"bytes", counts.bytes}};
}

json::object json_of(const state::SliceRow& row) {
  json::object object{{"id", row.id},
                      {"execution", row.execution},
                      {"topic", row.topic},
                      {"partition", row.partition},
                      {"lane", row.lane},
                      {"topic_incarnation", row.topic_incarnation},
                      {"start", row.start},
                      {"end", row.end},
                      {"epoch", row.epoch},
                      {"attempt", row.attempt},
                      {"state", slice_state_name(row.state)},
                      {"halted", row.halted},
                      {"slice_count", row.slice_count},
                      {"worker",
                       {{"slot", row.worker.slot},
                        {"pid", row.worker.pid},
                        {"incarnation", row.worker.incarnation}}},
                      {"counts", json_of(row.counts)},
                      {"times_us",
                       {{"fetch", row.times.fetch_us},
                        {"process", row.times.process_us},
                        {"put", row.times.put_us},
                        {"flush", row.times.flush_us},
                        {"state", row.times.state_us},
                        {"wait", row.times.wait_us}}},
                      {"created_ms", row.created_ms},
                      {"dispatched_ms", row.dispatched_ms},
                      {"settled_ms", row.settled_ms}};
  if (row.cause != state::Cause::None) object["cause"] = cause_name(row.cause);
  if (!row.excluded.empty()) {
    object["excluded"] = json::value_from(state::decode_offsets(row.excluded));
  }
  if (row.error) {
    object["error"] = json::object{{"stage", row.error->stage},
                                   {"plugin", row.error->plugin},
                                   {"code", row.error->code},
                                   {"message", row.error->message}};
  }
  return object;
}

json::object json_of(const state::GapRow& row) {
  return {{"execution", row.execution},
          {"topic", row.topic},
          {"partition", row.partition},
          {"lane", row.lane},
          {"topic_incarnation", row.topic_incarnation},
          {"start", row.start},
          {"end", row.end},
          {"cause", cause_name(row.cause)},
          {"records_max", row.records_max},
          {"slice_id", row.slice_id},
          {"at_ms", row.at_ms},
          {"detail", row.detail}};
}

json::object json_of(const state::ExecutionRow& row) {
  return {{"number", row.number},
          {"mode", row.mode == state::ExecutionMode::Once ? "once" : "persistent"},
          {"state", execution_state_name(row.state)},
          {"started_ms", row.started_ms},
          {"ended_ms", row.ended_ms},
          {"reason", row.reason}};
}

json::object json_of(const state::AuditFinding& finding) {
  json::object object{{"kind", state::finding_name(finding.kind)},
                      {"topic", finding.topic},
                      {"partition", finding.partition},
                      {"lane", finding.lane},
                      {"start", finding.start},
                      {"end", finding.end}};
  if (finding.slice_id != 0) object["slice_id"] = finding.slice_id;
  if (finding.other_id != 0) object["other_id"] = finding.other_id;
  return object;
}

}  // namespace sluice::rest
