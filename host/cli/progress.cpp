#include "host/cli/progress.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <ostream>

namespace sluice::cli {
namespace {

constexpr Milliseconds kLineEvery{5000};
constexpr int kBarWidth = 24;

std::string bar_of(double share) {
  const int filled = std::clamp(static_cast<int>(share * kBarWidth), 0, kBarWidth);
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "]";
}

bool is_once(const job::JobStatus& status) {
  return status.mode == job::JobStatus::Mode::Once;
}

}  // namespace

JobDistance distance_of(const job::JobStatus& status) {
  JobDistance distance;
  for (const auto& partition : status.slices.partitions) {
    const auto end = std::max(partition.visible_end, partition.frontier);
    distance.done += partition.frontier - partition.start_offset;
    distance.total += end - partition.start_offset;
    distance.lag += partition.lag;
  }
  return distance;
}

std::string grouped(std::uint64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return text;
}

std::string duration_text(std::uint64_t ms) {
  char text[40];
  if (ms < 1000) {
    std::snprintf(text, sizeof text, "%d ms", static_cast<int>(ms));
  } else if (ms < 60'000) {
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ms) / 1000);
  } else {
    std::snprintf(text, sizeof text, "%lu min %lu s", static_cast<unsigned long>(ms / 60'000),
                  static_cast<unsigned long>(ms / 1000 % 60));
  }
  return text;
}

bool Progress::is_due(Milliseconds now) const {
  return look_ == Look::Terminal || !last_line_ || now - *last_line_ >= kLineEvery;
}

void Progress::show(const job::JobStatus& status, Milliseconds now) {
  const auto records = status.slices.totals.in;
  if (last_look_ && now > *last_look_) {
    const double seconds = static_cast<double>((now - *last_look_).count()) / 1000;
    const auto read = records >= last_records_ ? records - last_records_ : 0;
    const double rate = static_cast<double>(read) / seconds;
    // Smoothed over about a second: group commits come in bursts.
    records_per_second_ += (rate - records_per_second_) * std::min(1.0, seconds);
  }
  last_look_ = now;
  last_records_ = records;
  if (look_ == Look::Terminal) {
    out_ << "\r\033[K" << line_of(status) << std::flush;
    drawn_ = true;
  } else if (is_due(now)) {
    last_line_ = now;
    out_ << line_of(status) << std::endl;
  }
}

void Progress::finish() {
  if (drawn_) out_ << '\n';
  drawn_ = false;
}

std::string Progress::line_of(const job::JobStatus& status) {
  const auto distance = distance_of(status);
  const auto rate = static_cast<std::uint64_t>(std::max(0.0, records_per_second_));
  std::string line = status.name + " " + std::string{job::job_state_name(status.state)};
  if (is_once(status) && distance.total > 0) {
    const double share = static_cast<double>(distance.done) / static_cast<double>(distance.total);
    line += " " + bar_of(share) + " " + std::to_string(static_cast<int>(share * 100)) + " %";
  }
  line += "  " + grouped(status.slices.totals.in) + " records, " + grouped(rate) + "/s, lag " +
          grouped(static_cast<std::uint64_t>(distance.lag));
  if (is_once(status) && rate > 0 && distance.lag > 0) {
    line += ", about " + duration_text(static_cast<std::uint64_t>(distance.lag) * 1000 / rate) +
            " left";
  }
  if (status.worker_restarts > 0) {
    line += ", " + std::to_string(status.worker_restarts) + " worker restarts";
  }
  if (status.slices.halted > 0) {
    line += ", " + std::to_string(status.slices.halted) + " partitions halted";
  }
  if (!status.waiting.empty()) line += "; waiting: " + status.waiting.front();
  return line;
}

void print_summary(std::ostream& out, const job::JobStatus& status) {
  const auto& totals = status.slices.totals;
  out << status.name << ' ' << job::job_state_name(status.state) << " after "
      << duration_text(status.elapsed_ms) << ": " << grouped(totals.in) << " records read, "
      << grouped(totals.out) << " delivered, " << grouped(totals.filtered) << " filtered, "
      << grouped(totals.errant) << " errant, " << grouped(status.slices.counts.skipped_records)
      << " skipped; " << grouped(status.slices.counts.completed) << " slices completed, "
      << status.slices.counts.parked << " parked; " << status.worker_restarts
      << " worker restarts\n";
  if (!status.reason.empty()) out << "reason: " << status.reason << '\n';
  for (const auto& partition : status.slices.partitions) {
    if (partition.state != slicer::PartitionState::Halted) continue;
    out << status.topics[partition.tp.topic] << '-' << partition.tp.partition
        << " halted at offset " << partition.halted_at << ": " << partition.text;
    // What is settled ends before the slice or the group of the offset that failed.
    if (partition.frontier != partition.halted_at) out << "; frontier " << partition.frontier;
    out << '\n';
  }
}

std::string summary_json(const job::JobStatus& status) {
  const auto& totals = status.slices.totals;
  boost::json::array frontiers;
  for (const auto& partition : status.slices.partitions) {
    frontiers.push_back({{"topic", status.topics[partition.tp.topic]},
                         {"partition", partition.tp.partition},
                         {"offset", partition.frontier}});
  }
  boost::json::object object{{"name", status.name},
                             {"state", job::job_state_name(status.state)},
                             {"records_read", totals.in},
                             {"records_delivered", totals.out},
                             {"records_errant", totals.errant},
                             {"slices_completed", status.slices.counts.completed},
                             {"records_skipped", status.slices.counts.skipped_records},
                             {"slices_parked", status.slices.counts.parked},
                             {"worker_restarts", status.worker_restarts},
                             {"frontiers", std::move(frontiers)},
                             {"elapsed_ms", status.elapsed_ms}};
  if (!status.reason.empty()) object["reason"] = status.reason;
  return boost::json::serialize(object);
}

}  // namespace sluice::cli
