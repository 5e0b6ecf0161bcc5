#include "host/cli/job_views.hpp"

#include <boost/json.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/cli/progress.hpp"

namespace sluice::cli {
namespace json = boost::json;

namespace {

/// `worker.pid`: a member of a member. Null where there is none.
const json::value& at(const json::value& value, std::string_view path) {
  static const json::value none;
  const json::value* here = &value;
  while (!path.empty()) {
    const auto dot = path.find('.');
    const auto* object = here->if_object();
    here = object != nullptr ? object->if_contains(path.substr(0, dot)) : nullptr;
    if (here == nullptr) return none;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return *here;
}

std::string text(const json::value& value) {
  if (value.is_null()) return "-";
  if (const auto* string = value.if_string()) return std::string{string->data(), string->size()};
  return json::serialize(value);
}

std::string text(const json::value& value, std::string_view path) {
  return text(at(value, path));
}

std::string place(const json::value& row) {
  return text(row, "topic") + "-" + text(row, "partition");
}

std::string range(const json::value& row) {
  return text(row, "start") + ".." + text(row, "end");
}

std::string duration(const json::value& row, std::string_view path) {
  const auto* ms = at(row, path).if_int64();
  return ms == nullptr ? "-"
                       : duration_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, *ms)));
}

struct Column {
  std::string header;
  std::function<std::string(const json::value&)> field;
};

Column member(std::string header, std::string path) {
  return {std::move(header),
          [path = std::move(path)](const json::value& row) { return text(row, path); }};
}

void print_rows(std::ostream& out, Look look, const json::value& rows,
                const std::vector<Column>& columns, std::string_view none) {
  const auto* array = rows.if_array();
  if (array == nullptr || array->empty()) {
    if (look == Look::Terminal && !none.empty()) out << none << '\n';
    return;
  }
  std::vector<std::string> header;
  for (const auto& column : columns) header.push_back(column.header);
  Table table{std::move(header)};
  for (const auto& row : *array) {
    std::vector<std::string> fields;
    for (const auto& column : columns) fields.push_back(column.field(row));
    table.add(std::move(fields));
  }
  table.print(out, look);
}

std::string waiting_of(const json::value& job) {
  if (!at(job, "reason").is_null()) return text(job, "reason");
  const auto* lines = at(job, "waiting").if_array();
  return lines == nullptr || lines->empty() ? "" : text(lines->front());
}

void print_heading(std::ostream& out, const json::value& job) {
  out << text(job, "name") << ' ' << text(job, "state") << ", " << text(job, "mode")
      << ", execution " << text(job, "execution") << ", " << text(job, "workers_up") << " of "
      << text(job, "tasks") << " workers up, lag " << text(job, "lag") << ", "
      << text(job, "records_in") << " records read, " << text(job, "worker_restarts")
      << " worker restarts\n";
  if (!at(job, "reason").is_null()) out << "reason: " << text(job, "reason") << '\n';
  if (const auto* lines = at(job, "waiting").if_array()) {
    for (const auto& line : *lines) out << "waiting: " << text(line) << '\n';
  }
  if (!at(job, "stored").is_null()) {
    out << "stored: " << text(job, "stored.failed") << " failed slices, "
        << text(job, "stored.parked") << " parked, " << text(job, "stored.dead_lettered")
        << " dead-lettered, " << text(job, "stored.skipped") << " skipped; "
        << text(job, "stored.gaps") << " gaps\n";
  }
}

/// The same offset as the log's line names: not the frontier, which may be lower.
std::string text_of_partition(const json::value& row) {
  const auto& offset = at(row, "halted_at");
  return (offset.is_null() ? std::string{} : "halted at offset " + text(offset) + ": ") +
         text(row, "text");
}

void print_partitions(std::ostream& out, Look look, const json::value& job) {
  print_rows(out, look, at(job, "partitions"),
             {{"PARTITION", place},
              member("STATE", "state"),
              member("FRONTIER", "frontier"),
              member("END", "end"),
              member("LAG", "lag"),
              member("WORKER", "worker"),
              member("WAIT", "wait"),
              {"TEXT", text_of_partition}},
             "no partitions yet");
}

void print_slices(std::ostream& out, Look look, const json::value& answer, std::string_view none) {
  print_rows(out, look, at(answer, "slices"),
             {member("ID", "id"),
              member("EXECUTION", "execution"),
              {"PARTITION", place},
              {"OFFSETS", range},
              {"STATE",
               [](const json::value& row) {
                 return at(row, "halted") == json::value(true) ? "halted" : text(row, "state");
               }},
              member("ATTEMPT", "attempt"),
              member("SLICES", "slice_count"),
              member("IN", "counts.in"),
              member("OUT", "counts.out"),
              member("WORKER", "worker.slot"),
              member("PID", "worker.pid"),
              member("ERROR", "error.message")},
             none);
}

void print_more(std::ostream& out, Look look, const json::value& answer) {
  const auto& next = at(answer, "next_before");
  if (look == Look::Terminal && !next.is_null()) {
    out << "there is more: --before " << text(next) << '\n';
  }
}

}  // namespace

void show_jobs(std::ostream& out, Look look, const json::value& answer) {
  print_rows(
      out, look, at(answer, "jobs"),
      {member("JOB", "name"),
       member("STATE", "state"),
       member("MODE", "mode"),
       {"WORKERS",
        [](const json::value& job) { return text(job, "workers_up") + "/" + text(job, "tasks"); }},
       member("PARTITIONS", "partition_count"),
       member("HALTED", "halted"),
       member("LAG", "lag"),
       member("RECORDS", "records_in"),
       {"WAITING", waiting_of}},
      "no jobs");
}

void show_workers(std::ostream& out, Look look, const json::value& answer) {
  print_rows(out, look, at(answer, "workers"),
             {member("WORKER", "slot"),
              member("STATE", "state"),
              member("PID", "pid"),
              member("PHASE", "phase"),
              {"STILL", [](const json::value& row) { return duration(row, "still_ms"); }},
              {"SINCE", [](const json::value& row) { return duration(row, "since_ms"); }},
              member("PARTITIONS", "partitions"),
              member("IN_FLIGHT", "in_flight"),
              member("RESTARTS", "restarts"),
              member("LAST_LOSS", "last_loss.text")},
             "no workers");
}

void show_job(std::ostream& out, Look look, const json::value& answer) {
  print_heading(out, answer);
  out << '\n';
  print_partitions(out, look, answer);
  out << '\n';
  show_workers(out, look, answer);
}

void show_slices(std::ostream& out, Look look, const json::value& answer) {
  print_slices(out, look, answer, "no such slices");
  print_more(out, look, answer);
}

void show_gaps(std::ostream& out, Look look, const json::value& answer) {
  print_rows(out, look, at(answer, "gaps"),
             {{"PARTITION", place},
              {"OFFSETS", range},
              member("CAUSE", "cause"),
              member("RECORDS_MAX", "records_max"),
              member("EXECUTION", "execution"),
              member("SLICE", "slice_id"),
              member("DETAIL", "detail")},
             "no gaps");
  print_more(out, look, answer);
}

void show_offsets(std::ostream& out, Look look, const json::value& answer) {
  print_rows(out, look, at(answer, "partitions"),
             {{"PARTITION", place},
              member("START", "start"),
              member("FRONTIER", "frontier"),
              member("DURABLE", "durable_frontier"),
              member("END", "end"),
              member("LAG", "lag")},
             "no partitions yet");
}

void show_audit(std::ostream& out, Look look, const json::value& answer) {
  const bool holds = at(answer, "holds") == json::value(true);
  out << (holds ? "holds: " : "does not hold: ") << text(answer, "offsets") << " offsets of "
      << text(answer, "lanes") << " lanes in execution " << text(answer, "execution") << ", "
      << text(answer, "records") << " records, " << text(answer, "finding_count") << " findings\n";
  print_rows(out, look, at(answer, "findings"),
             {member("FINDING", "kind"),
              {"PARTITION", place},
              member("LANE", "lane"),
              {"OFFSETS", range},
              member("SLICE", "slice_id"),
              member("OTHER", "other_id")},
             "");
}

void show_state(std::ostream& out, Look, const json::value& answer) {
  print_heading(out, answer);
}

void show_recovery(std::ostream& out, Look look, const json::value& answer) {
  if (at(answer, "slice_count") == json::value(0)) {
    out << "there is nothing to recover\n";
    return;
  }
  const bool dry = at(answer, "dry_run") == json::value(true);
  out << text(answer, "slice_count") << (dry ? " slices would run again, " : " slices run again, ")
      << text(answer, "records_max") << " offsets at most\n";
  print_slices(out, look, answer, "");
}

void show_reset(std::ostream& out, Look, const json::value& answer) {
  // Only a job that somebody has stopped can be resumed.
  const bool stopped = at(answer, "state") == json::value("STOPPED");
  const auto* const command = stopped ? "resume" : "restart";
  out << "the next start begins at " << text(answer, "start_from") << "; start it with `sluice job "
      << command << ' ' << text(answer, "name") << "`\n";
}

}  // namespace sluice::cli
