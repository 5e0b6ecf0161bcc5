// The product's host in a program that tests can look into: what a spectator of its jobs learns,
// and what only the process itself may count (it is not dumpable), as JSON lines in a file. Told
// to, it kills itself at one point of delivery.md D2. Nothing of the host is changed for this:
//
//   report       in JobObserver::reported, before the slicer's answer can reach the store
//   store-torn   SQLite's first write to its log after that report, half of it done
//   store-whole  the log is written, and not synced
//   stored       the log is synced: the rows are durable, the group has not been told
//   outside      nowhere: somebody else kills it
//
// The middle three stand in pwrite64 and fdatasync: this program's own come before libc's. A
// worker that has reported a slice is stopped until the store has it, however slow the disk is: so
// the write that is met there is that of the last slice alone, and the next one has not begun.
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <boost/program_options.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/load.hpp"
#include "host/job/host.hpp"
#include "host/job/job_plan.hpp"
#include "integration/host/mapped_plugin.hpp"
#include "integration/host/stall_meter.hpp"

namespace {

namespace options = boost::program_options;
using namespace sluice;

enum class Point { None, Report, StoreTorn, StoreWhole, Stored, Outside };

Point point_of(const std::string& name) {
  static const std::map<std::string, Point> kPoints{{"", Point::None},
                                                    {"report", Point::Report},
                                                    {"store-torn", Point::StoreTorn},
                                                    {"store-whole", Point::StoreWhole},
                                                    {"stored", Point::Stored},
                                                    {"outside", Point::Outside}};
  return kPoints.at(name);
}

/// Set once, by the observer: the next time the store's log comes to this point is the last.
std::atomic<Point> armed{Point::None};

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

bool is_log_of_store(int fd) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  return !error && path.string().ends_with("state.db-wal");
}

}  // namespace

extern "C" ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  const bool dies = armed == Point::StoreTorn && is_log_of_store(fd);
  const auto written = ::syscall(SYS_pwrite64, fd, data, dies ? size / 2 : size, at);
  if (dies) die();
  return written;
}

extern "C" int fdatasync(int fd) {
  const Point point = armed;
  const bool of_store = point != Point::None && is_log_of_store(fd);
  if (of_store && point == Point::StoreWhole) die();
  const auto result = static_cast<int>(::syscall(SYS_fdatasync, fd));
  if (of_store && point == Point::Stored) die();
  return result;
}

namespace {

constexpr Milliseconds kBeat{50};
constexpr Milliseconds kLook{5};

template <typename T, typename E>
T must(boost::system::result<T, E> result) {
  if constexpr (std::is_same_v<E, config::Problems>) {
    if (!result) throw std::runtime_error{result.error().text()};
  } else {
    if (!result) throw std::runtime_error{result.error().message()};
  }
  return *std::move(result);
}

/// One line a write, so that what was said before a SIGKILL is in the file.
class Events {
 public:
  explicit Events(const std::string& file)
      : fd_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)} {
    if (fd_ < 0) throw std::runtime_error{"events: " + file};
  }
  void say(const boost::json::object& event) const {
    const auto line = boost::json::serialize(event) + "\n";
    if (::write(fd_, line.data(), line.size()) < 0) die();
  }

 private:
  int fd_;
};

std::int64_t entries_of(const char* folder) {
  std::int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{folder}) ++count;
  return count;
}

/// Bytes that the kernel has received for this process on the TCP connections that are open.
std::int64_t tcp_received() {
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    tcp_info info{};
    socklen_t size = sizeof info;
    const int fd = std::stoi(entry.path().filename().string());
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
      bytes += static_cast<std::int64_t>(info.tcpi_bytes_received);
    }
  }
  return bytes;
}

std::int64_t rss_anon_kb() {
  std::ifstream in{"/proc/self/status"};
  for (std::string word; in >> word;) {
    if (word != "RssAnon:") continue;
    std::int64_t kilobytes = 0;
    in >> kilobytes;
    return kilobytes;
  }
  throw std::runtime_error{"/proc/self/status has no RssAnon"};
}

/// What may not grow with the dead: descriptors, threads, segments shared with workers.
boost::json::object census() {
  std::int64_t mappings = 0;
  std::int64_t segments = 0;
  std::int64_t plugins = 0;
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line); ++mappings) {
    if (line.find("memfd:") != std::string::npos) ++segments;
    if (test::is_of_plugin(line)) ++plugins;
  }
  return {{"event", "census"},
          {"descriptors", entries_of("/proc/self/fd")},
          {"threads", entries_of("/proc/self/task")},
          {"mappings", mappings},
          {"segments", segments},
          {"plugins", plugins}};
}

class Spectator final : public job::JobObserver {
 public:
  Spectator(const Events& events, Point point, std::int64_t after)
      : events_{events}, point_{point}, reports_left_{after} {}

  void worker_ready(std::uint32_t slot, std::int32_t pid) override {
    pids_[slot] = pid;
    events_.say({{"event", "ready"}, {"slot", slot}, {"pid", pid}});
  }
  void worker_lost(std::uint32_t slot, const slicer::Accusation& why) override {
    if (held_ && held_->pid == pids_[slot]) held_.reset();
    events_.say({{"event", "lost"}, {"slot", slot}, {"pid", pids_[slot]}, {"why", why.text}});
  }
  void reported(std::uint32_t slot, const ipc::Report& report) override {
    if (static_cast<ipc::ReportKind>(report.kind) != ipc::ReportKind::Done) return;
    if (report.records == 0) return;
    events_.say({{"event", "done"},
                 {"pid", pids_[slot]},
                 {"partition", report.partition},
                 {"records", report.records},
                 {"next_offset", report.next_offset}});
    if (point_ == Point::None) return;
    if (point_ != Point::Outside && --reports_left_ <= 0) {
      if (point_ == Point::Report) die();
      armed = point_;
    }
    hold(pids_[slot], report);
  }

  /// Lets the worker go on whose slice the store has by now.
  void look(const job::Host& host) {
    if (!held_) return;
    for (const auto& job : host.status()) {
      for (const auto& partition : job.slices.partitions) {
        if (!held_ || partition.tp.partition != held_->partition) continue;
        if (partition.durable_frontier < held_->next_offset) continue;
        ::kill(held_->pid, SIGCONT);
        held_.reset();
      }
    }
  }

 private:
  struct Held {
    std::int32_t pid = 0;
    std::int32_t partition = 0;
    std::int64_t next_offset = 0;
  };

  void hold(std::int32_t pid, const ipc::Report& report) {
    ::kill(pid, SIGSTOP);
    held_ = Held{pid, report.partition, report.next_offset};
  }

  const Events& events_;
  const Point point_;
  std::int64_t reports_left_;
  std::map<std::uint32_t, std::int32_t> pids_;
  std::optional<Held> held_;
};

/// The loop turns: how long it had not, how much of that the machine withheld, and what the process
/// is.
boost::json::object beat(const job::Host& host, Milliseconds since_last, Milliseconds stalled) {
  std::uint64_t records = 0;
  std::uint64_t skipped = 0;
  boost::json::array open;
  for (const auto& status : host.status()) {
    records += status.slices.totals.in;
    skipped += status.slices.counts.skipped_records;
    for (const auto& slice : host.open_slices(status.name)) {
      open.push_back({{"start", slice.start}, {"end", slice.end}});
    }
  }
  return {{"event", "beat"},
          {"gap_ms", since_last.count()},
          {"stalled_ms", stalled.count()},
          {"records", records},
          {"skipped_records", skipped},
          {"rss_anon_kb", rss_anon_kb()},
          {"tcp_received", tcp_received()},
          {"open_slices", std::move(open)}};
}

int run(const options::variables_map& values) {
  const SystemClock clock;
  const std::filesystem::path state_dir = values["state-dir"].as<std::string>();
  const auto worker = must(job::find_worker_executable());
  catalog::PluginCatalog catalog{{{SLUICE_PLUGIN_DIR}, worker, state_dir}};
  job::HostOptions host_options;
  host_options.kafka = {{"bootstrap.servers", values["bootstrap-servers"].as<std::string>()}};
  host_options.state_dir = state_dir;
  host_options.worker_executable = worker;
  const Events events{values["events"].as<std::string>()};
  Spectator spectator{events, point_of(values["kill-at"].as<std::string>()),
                      values["after-reports"].as<std::int64_t>()};
  std::vector<job::JobPlan> plans;
  for (const auto& file : values["job"].as<std::vector<std::string>>()) {
    plans.push_back(must(job::plan_job(must(config::load_job(file, {})), catalog)));
  }
  const auto host =
      must(job::Host::open(host_options, clock, log::Logger::to_stderr(clock, log::Level::Info)));
  for (auto& plan : plans) host->add_job(std::move(plan), &spectator);
  const test::StallMeter meter;
  auto last = clock.monotonic();
  auto stalled = meter.stalled();
  const auto beats = host->loop().every(kBeat, [&] {
    const auto now = clock.monotonic();
    const auto stalled_now = meter.stalled();
    events.say(beat(*host, now - std::exchange(last, now),
                    stalled_now - std::exchange(stalled, stalled_now)));
  });
  const auto looks = host->loop().every(kLook, [&] { spectator.look(*host); });
  const auto asked = host->loop().on_signals({SIGUSR1}, [&](int) { events.say(census()); });
  host->run(job::Host::Until::JobsEnded);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options::options_description described{"observed_host: the product's host, for tests"};
  described.add_options()("job", options::value<std::vector<std::string>>()->required(), "file")(
      "bootstrap-servers", options::value<std::string>()->required(), "host:port")(
      "state-dir", options::value<std::string>()->required(), "folder")(
      "events", options::value<std::string>()->required(), "file for what happens")(
      "kill-at", options::value<std::string>()->default_value(""), "a point, see above")(
      "after-reports", options::value<std::int64_t>()->default_value(0),
      "how many slices must be done before that");
  try {
    options::variables_map values;
    options::store(options::parse_command_line(argc, argv, described), values);
    options::notify(values);
    return run(values);
  } catch (const std::exception& error) {
    std::cerr << "observed_host: " << error.what() << '\n';
    return 1;
  }
}
