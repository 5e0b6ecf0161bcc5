#include "integration/host/death_matrix.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "unit/rest/http_peer.hpp"

namespace sluice::test {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr int kPartitions = 2;
/// A third of the cells, so that over the five columns each fault comes at least once.
constexpr std::size_t kThird = 3;

struct Fault {
  std::string name;
  std::string word;
  std::string lines;
  std::string told;   ///< in the host's line, whenever it happens
  std::string cause;  ///< as the host names it
};

constexpr char kBoundedMemory[] = "worker.memory.max = \"256MiB\"\n";
constexpr char kLittleMemory[] = "alloc.max = \"20MiB\"\n";

const std::vector<Fault>& faults() {
  static const std::vector<Fault> kFaults{
      {"sigkill", "kill", "", "SIGKILL, not from us", "killed"},
      {"sigsegv", "crash", "", "SIGSEGV in ", "crash"},
      {"abort", "abort", "", "SIGABRT in ", "crash"},
      {"exit0", "exit:0", "", "exit code 0", "exit"},
      {"exit1", "exit:1", "", "exit code 1", "exit"},
      {"memory", "alloc", kBoundedMemory, "worker.memory.max is 268435456", "memory"},
      {"bad-alloc", "alloc", kLittleMemory, "", ""},
      {"overflow", "overflow", "", "SIGSEGV in ", "crash"},
      {"loop", "spin", "", "the process is spinning", "hang"},
      {"blocked", "block", "", "the process is blocked", "hang"},
      {"sigstop", "sigstop", "", "the process is stopped", "hang"},
      {"deadlock", "deadlock", "", "the process is blocked", "hang"},
      {"stuck", "stuck", "", "no answer from ", "hang"},
  };
  return kFaults;
}

std::string name_of(When when) {
  switch (when) {
    case When::Idle:
      return "idle";
    case When::Put:
      return "put";
    case When::Flush:
      return "flush";
    case When::Start:
      return "start";
    case When::Stop:
      return "stop";
  }
  return {};
}

/// A plugin that throws std::bad_alloc has ended nobody: the call fails, and is told as the
/// plugin's own words. Where nobody could catch it, it is an abort.
std::vector<std::string> told_of_bad_alloc(When when) {
  switch (when) {
    case When::Put:
    case When::Flush:
      return {"bad-alloc-", "failed, attempt 1: ", "std::bad_alloc"};
    case When::Start:
      return {"start-bad-alloc: std::bad_alloc"};  // it leaves with 75 after that
    default:
      return {"worker is gone: SIGABRT in " + name_of(when), "cause crash"};
  }
}

std::vector<std::string> told_of_hang(When when, const Fault& fault) {
  const auto phase = ", phase " + name_of(when);
  if (when == When::Stop) {
    return {"worker is gone: has not stopped for 3 s", "cause stop_timeout" + phase};
  }
  if (when == When::Idle && fault.word == "sigstop") {
    return {"worker is gone: its loop stands still in idle for 10 s", fault.told,
            "cause hang" + phase};
  }
  // A thread that waits for ever is nobody's concern, unless it has what put wants.
  if (when == When::Idle && fault.word != "deadlock") return {};
  const std::string call = when == When::Idle ? "put" : name_of(when);
  return {"worker is gone: no answer from " + call + " for 3 s", fault.told,
          "cause hang, phase " + call};
}

std::vector<std::string> told_of(When when, const Fault& fault) {
  if (fault.name == "bad-alloc") return told_of_bad_alloc(when);
  auto told = fault.cause == "hang"
                  ? told_of_hang(when, fault)
                  : std::vector<std::string>{"worker is gone: ", fault.told,
                                             "cause " + fault.cause + ", phase " + name_of(when)};
  // Asked to stop, a worker that exits with 0 has stopped.
  if (when == When::Stop && fault.word == "exit:0") return {};
  if (told.empty()) return told;
  const bool has_slice = when == When::Put || when == When::Flush;
  if (has_slice) told.push_back(", slice " + name_of(when) + "-" + fault.name + "-");
  if (when != When::Stop) told.push_back(", restart 1 in ");
  return told;
}

/// Short deadlines for what only a deadline ends; whoever takes memory beside a spinning neighbour
/// and a sanitizer needs seconds, and is no hang.
std::string lines_of(When when, const Fault& fault) {
  const bool by_record = when == When::Put;
  const std::string deadline = fault.cause == "hang" ? "3000\n" : "60000\n";
  return fault.lines + "task.call.timeout.ms = " + deadline + "task.stop.timeout.ms = " + deadline +
         (by_record ? std::string{} : name_of(when) + ".action = \"" + fault.word + "\"\n");
}

}  // namespace

std::vector<Cell> cells_of(When when) {
  const char* const full = std::getenv("SLUICE_FULL");
  const bool all = full != nullptr && std::string{full} == "1";
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < faults().size(); ++i) {
    if (!all && (i + static_cast<std::size_t>(when)) % kThird != 0) continue;
    const auto& fault = faults()[i];
    const bool held_up = fault.word == "sigstop" || fault.word == "deadlock";
    auto& cell = cells.emplace_back();
    cell.name = name_of(when) + "-" + fault.name;
    cell.word = fault.word;
    cell.lines = lines_of(when, fault);
    cell.told = told_of(when, fault);
    cell.cause = fault.cause;
    cell.phase = name_of(when);
    cell.told_later = when == When::Idle && held_up;
    if (cell.told.empty()) cell.cause.clear();
    if (when == When::Idle && fault.word == "deadlock") cell.phase = "put";
  }
  return cells;
}

DeathMatrix::DeathMatrix(When when) : cells_{cells_of(when)} {
  std::filesystem::create_directories(kafka_.jobs_dir());
  for (const auto& cell : cells_) {
    kafka_.topic(cell.name, kPartitions);
    const auto once = kafka_.folder().path() / (cell.name + ".once");
    std::filesystem::create_directory(once);
    std::ofstream{kafka_.jobs_dir() / (cell.name + ".toml")}
        << "name = \"" << cell.name << "\"\nconnector.class = \"fault\"\ntopics = [\"" << cell.name
        << "\"]\ntasks.max = 2\nfile = \"" << (kafka_.folder().path() / cell.name).string()
        << ".jsonl\"\nonce.folder = \"" << once.string() << "\"\n"
        << cell.lines;
  }
}

void DeathMatrix::produce(std::int64_t count, Records records) {
  for (const auto& cell : cells_) {
    for (int partition = 0; partition < kPartitions; ++partition) {
      const bool poisoned = records == Records::Poisoned && partition == 0;
      kafka_.produce(cell.name, partition, count / 2);
      kafka_.produce_value(cell.name, partition, poisoned ? cell.word : "value");
      kafka_.produce(cell.name, partition, count - count / 2 - 1);
    }
  }
  produced_ += count;
}

std::vector<LedgerLine> DeathMatrix::ledger(const Cell& cell) const {
  return read_ledger(kafka_.folder().path() / (cell.name + ".jsonl"));
}

void DeathMatrix::require_all_delivered() {
  const auto wanted = static_cast<std::size_t>(produced_ * kPartitions);
  auto waiting = cells_;
  const auto over = [&] {
    std::erase_if(
        waiting, [&](const auto& cell) { return count_deliveries(ledger(cell)).size() == wanted; });
    return waiting.empty();
  };
  if (eventually(over, kPatience)) return;
  for (const auto& cell : waiting) {
    UNSCOPED_INFO(cell.name << ": " << count_deliveries(ledger(cell)).size() << " of " << wanted);
  }
  FAIL(host_->err());
}

std::vector<std::string> DeathMatrix::told_about(const Cell& cell) const {
  std::vector<std::string> lines;
  std::istringstream said{said_before_ + host_->err()};
  for (std::string line; std::getline(said, line);) {
    const bool of_fault = line.find("worker is gone: ") != std::string::npos ||
                          line.find(" failed, attempt ") != std::string::npos ||
                          line.find(": std::bad_alloc") != std::string::npos;
    if (of_fault && (line + " ").find(" job=" + cell.name + " ") != std::string::npos) {
      lines.push_back(line);
    }
  }
  return lines;
}

bool DeathMatrix::is_told(const Cell& cell) const {
  const auto lines = told_about(cell);
  if (cell.told.empty()) return lines.empty();
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) {
    return std::all_of(cell.told.begin(), cell.told.end(),
                       [&](const auto& part) { return line.find(part) != std::string::npos; });
  });
}

void DeathMatrix::require_all_told() {
  const auto over = [&] {
    return std::all_of(cells_.begin(), cells_.end(),
                       [&](const auto& cell) { return is_told(cell); });
  };
  if (eventually(over, kPatience)) return;
  for (const auto& cell : cells_) {
    if (is_told(cell)) continue;
    UNSCOPED_INFO(cell.name << " was told as:");
    for (const auto& line : told_about(cell)) UNSCOPED_INFO("  " << line);
    for (const auto& part : cell.told) UNSCOPED_INFO("  wanted: " << part);
  }
  FAIL(host_->err());
}

bool DeathMatrix::is_in_status(const Cell& cell) const {
  if (cell.cause.empty()) return true;
  HttpPeer peer{kafka_.socket()};
  if (!peer.connected()) return false;
  const auto answer = peer.get("/sluice/v1/jobs/" + cell.name);
  if (status_of(answer) != "200") return false;
  const auto status = boost::json::parse(body_of(answer));
  const auto& workers = status.at("workers").as_array();
  return std::any_of(workers.begin(), workers.end(), [&](const auto& worker) {
    const auto* const loss = worker.as_object().if_contains("last_loss");
    return loss != nullptr && loss->at("cause").as_string() == cell.cause &&
           loss->at("phase").as_string() == cell.phase;
  });
}

void DeathMatrix::require_all_in_status() {
  for (const auto& cell : cells_) {
    INFO(cell.name << ": " << cell.cause << " in " << cell.phase << "\n" << host_->err());
    REQUIRE(eventually([&] { return is_in_status(cell); }));
  }
}

void DeathMatrix::require_idle_faults_met() {
  const auto over = [&] {
    return std::all_of(cells_.begin(), cells_.end(), [&](const auto& cell) {
      const bool begun =
          std::filesystem::exists(kafka_.folder().path() / (cell.name + ".once") / "idle");
      return begun && (cell.told_later || is_told(cell));
    });
  };
  const bool met = eventually(over, kPatience);
  INFO(host_->err());
  REQUIRE(met);
}

void DeathMatrix::require_neighbours_undisturbed() const {
  for (const auto& cell : cells_) {
    INFO(cell.name);
    const auto lines = ledger(cell);
    int undisturbed = 0;
    for (int partition = 0; partition < kPartitions; ++partition) {
      std::set<std::int64_t> pids;
      std::size_t delivered = 0;
      for (const auto& line : lines) {
        if (line.partition != partition) continue;
        pids.insert(line.pid);
        ++delivered;
      }
      if (pids.size() == 1 && delivered == static_cast<std::size_t>(produced_)) ++undisturbed;
    }
    CHECK(undisturbed >= 1);
    for (const auto& [where, times] : count_deliveries(lines)) REQUIRE(times <= 2);
  }
}

void DeathMatrix::require_nothing_twice() const {
  for (const auto& cell : cells_) {
    INFO(cell.name);
    for (const auto& [where, times] : count_deliveries(ledger(cell))) REQUIRE(times == 1);
  }
}

void DeathMatrix::stop() {
  const int code = host_->stop();
  INFO(host_->err());
  CHECK(code == 0);
  CHECK(host_->err().find("host has drained") != std::string::npos);
  said_before_ += host_->err();
}

}  // namespace sluice::test
