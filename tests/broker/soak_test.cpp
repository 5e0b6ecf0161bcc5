// Everything at once, for long: records at a pace, workers and hosts killed with SIGKILL, leaders
// that go, records that expire before they are read, poison now and then. At the end output and gap
// ledger are the input, the audit says so, too, and nothing has grown that lives that long.
// 20 s; SLUICE_FULL=1: 30 minutes. SLUICE_SEED=N repeats a run's moments.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>

#include "broker/paced_producer.hpp"
#include "broker/soak_account.hpp"
#include "broker/soak_cluster.hpp"
#include "broker/soak_jobs.hpp"
#include "integration/host/delivery_proof.hpp"
#include "unit/full_scale.hpp"

namespace sluice::tests {
namespace {

using Clock = std::chrono::steady_clock;
using Ms = std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kPartitions = 4;
constexpr std::int64_t kPerSecond = 400;
constexpr auto kWithoutEnd = std::numeric_limits<std::int64_t>::max();
// Records go on coming for as long as there are blows, and behind the last one: of poison behind
// which nothing is left to complete nobody can tell that it is not the environment (F3.2).
constexpr seconds kBehindTheLast{3};
// Batches of 40 records: the mock cluster answers a fetch with one batch, which it looks for from
// the beginning of the log. With batches of two whoever had fallen behind never caught up.
constexpr const char* kLingerMs = "400";
constexpr std::int64_t kGrowthMaxKb = 8 * 1024;
constexpr std::int64_t kConnections = 6;  // a client opens and closes them as leaders come and go
constexpr std::chrono::minutes kStrikesTakeMax{15};  // a broker's restart on a crowded machine
constexpr std::size_t kAllWorkers = 4;               // of steady and hit

enum class Blow { Worker, Host, Leaders, Expiry, Deletion, Poison };

/// How long, after how long is looked at what may not grow since, and how often what happens.
struct Size {
  seconds length;
  seconds settle;
  std::map<Blow, int> blows;
  seconds catch_up;
};

Size size_of_run() {
  if (full_scale()) {
    return {seconds{1800},
            seconds{120},
            {{Blow::Worker, 120},
             {Blow::Host, 40},
             {Blow::Leaders, 10},
             {Blow::Expiry, 15},
             {Blow::Deletion, 15},
             {Blow::Poison, 30}},
            seconds{300}};
  }
  return {seconds{20},
          seconds{5},
          {{Blow::Worker, 4},
           {Blow::Host, 2},
           {Blow::Leaders, 1},
           {Blow::Expiry, 1},
           {Blow::Deletion, 1},
           {Blow::Poison, 2}},
          seconds{300}};
}

std::uint64_t seed_of_run() {
  const char* const seed = std::getenv("SLUICE_SEED");
  return seed != nullptr ? std::stoull(seed) : Random::system_seed();
}

std::string topic_of_run() {
  return "soak-" + std::to_string(::getpid()) + "-" +
         std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
}

class Soak {
 public:
  Soak(SoakCluster& cluster, Size size)
      : cluster_{cluster},
        size_{std::move(size)},
        seed_{seed_of_run()},
        random_{seed_},
        topic_{topic_of_run()},
        lasting_{cluster.bootstrap_servers(), topic_},
        mortal_{cluster.bootstrap_servers(), topic_},
        deleted_(kPartitions, 0) {
    std::cout << "SLUICE_SEED=" << seed_ << std::endl;
    cluster_.create_topic(topic_, kPartitions);
    cluster_.create_topic(lasting_.hit().dlq, 1);
    cluster_.create_topic(mortal_.mortal().dlq, 1);
  }

  void run() {
    lasting_.start();
    mortal_.start();
    REQUIRE(test::eventually([&] { return workers_up() == kAllWorkers; }, kGiveUp));
    REQUIRE(test::eventually([&] { return is_mortal_on_record(); }, kGiveUp));
    producer_ =
        std::make_unique<PacedProducer>(value_of(kafka::Producer::create(kafka::with_overrides(
                                            cluster_.properties(), {{"linger.ms", kLingerMs}}))),
                                        topic_, Pace{kWithoutEnd, kPerSecond, kPartitions});
    begin_ = Clock::now();
    go_on_for(size_.settle);
    const auto before = look();
    strike_all();
    go_on_for(kBehindTheLast);
    producer_->flush();
    require_caught_up();
    require_flat(before);
    require_accounted(mortal_, mortal_.mortal());
    CHECK(has_expired(mortal_, mortal_.mortal()) == cluster_.can_delete());
    CHECK(mortal_.program().stop() == 0);
    CHECK(lasting_.run().program().stop() == 0);
    require_accounted(lasting_, lasting_.steady());
    require_accounted(lasting_, lasting_.hit());
    CHECK(faults_of_order(test::read_ledger(lasting_.steady().ledger)).empty());
  }

 private:
  /// Those processes that live through all of it.
  struct Look {
    test::Census host;
    Footprint host_memory;
    std::map<pid_t, Footprint> workers;  ///< of steady
  };

  /// The first blow may be its death, and the next one asks where it was.
  bool is_mortal_on_record() {
    const bool has_store = mortal_.program().err().find("-" + std::to_string(kPartitions - 1) +
                                                        " starts at ") != std::string::npos;
    return has_store && frontiers_of(mortal_, mortal_.mortal()).size() == kPartitions;
  }

  std::size_t workers_up() { return test::workers_below(lasting_.pid()).size(); }

  Look look() {
    REQUIRE(test::eventually([&] { return workers_up() == kAllWorkers; }, size_.catch_up));
    Look look{lasting_.run().census(), footprint_of(lasting_.pid()), {}};
    for (const auto pid : workers_of(lasting_.pid(), lasting_.steady().name)) {
      look.workers[pid] = footprint_of(pid);
    }
    std::cout << "host: " << look.host_memory.rss_anon_kb << " kB, " << look.host.threads
              << " threads, " << look.host.descriptors << " descriptors, " << look.host.mappings
              << " mappings, " << look.host.segments << " segments" << std::endl;
    for (const auto& [pid, worker] : look.workers) {
      std::cout << "worker " << pid << ": " << worker.rss_anon_kb << " kB, " << worker.threads
                << " threads, " << worker.descriptors << " descriptors, " << worker.mappings
                << " mappings" << std::endl;
    }
    return look;
  }

  void go_on_for(seconds time) {
    const auto until = Clock::now() + time;
    test::eventually(
        [&] {
          producer_->send_due();
          return Clock::now() >= until;
        },
        time + kGiveUp);
  }

  /// When what happens, in order.
  std::vector<std::pair<Ms, Blow>> plan() {
    std::vector<std::pair<Ms, Blow>> plan;
    const Ms settle{size_.settle};
    const auto span = static_cast<std::uint64_t>((Ms{size_.length} - settle).count());
    for (const auto& [blow, times] : size_.blows) {
      const bool deletes = blow == Blow::Expiry || blow == Blow::Deletion;
      if (deletes && !cluster_.can_delete()) continue;
      for (int i = 0; i < times; ++i) {
        plan.emplace_back(settle + Ms{random_.below(span)}, blow);
      }
    }
    std::sort(plan.begin(), plan.end());
    return plan;
  }

  void strike_all() {
    auto left = plan();
    const auto over = [&] {
      producer_->send_due();
      if (!left.empty() && Clock::now() - begin_ >= left.front().first) {
        if (strike(left.front().second)) left.erase(left.begin());
      }
      return left.empty() && Clock::now() - begin_ >= size_.length;
    };
    REQUIRE(test::eventually(over, 2 * size_.length + kStrikesTakeMax));
  }

  /// False: its victim does not live at this moment.
  bool strike(Blow blow) {
    const auto partition = static_cast<std::int32_t>(random_.below(kPartitions));
    switch (blow) {
      case Blow::Worker:
        if (!strike_worker()) return false;
        break;
      case Blow::Host:
        kill_mortal();
        mortal_.start();
        break;
      case Blow::Leaders:
        cluster_.disturb_leaders(topic_, kPartitions, random_);
        producer_->flush();  // what could not be sent meanwhile
        break;
      case Blow::Expiry:
        expire(partition);
        break;
      case Blow::Deletion:
        remove_before(partition, cluster_.ends(topic_, kPartitions).at(partition));
        break;
      case Blow::Poison:
        producer_->send_one(partition, "crash");
        break;
    }
    ++struck_[blow];
    return true;
  }

  bool strike_worker() {
    const bool mortal = random_.once_in(2);
    return kill_one(mortal ? workers_of(mortal_.program().pid(), mortal_.mortal().name)
                           : workers_of(lasting_.pid(), lasting_.hit().name),
                    random_);
  }

  void kill_mortal() {
    for (const auto orphan : mortal_.kill()) {
      const auto gone = [&] {
        producer_->send_due();
        return test::has_ended(orphan);
      };
      CHECK(test::eventually(gone, kGiveUp));  // B25's two seconds are kill_test's
    }
  }

  /// Half of what came while mortal was dead is deleted before it lives again. Returns when mortal
  /// is past it: a broker that is killed soon after a deletion has forgotten it.
  void expire(std::int32_t partition) {
    kill_mortal();
    go_on_for(seconds{2});
    producer_->flush();
    const auto frontiers = frontiers_of(mortal_, mortal_.mortal());
    REQUIRE(frontiers.size() == kPartitions);
    const auto frontier = frontiers.at(partition);
    const auto end = cluster_.ends(topic_, kPartitions).at(partition);
    REQUIRE(frontier + 1 < end);
    remove_before(partition, frontier + (end - frontier) / 2);
    mortal_.start();
    const auto is_past = [&] {
      producer_->send_due();
      return frontiers_of(mortal_, mortal_.mortal()).at(partition) >= end;
    };
    REQUIRE(test::eventually(is_past, kGiveUp));
  }

  void remove_before(std::int32_t partition, std::int64_t before) {
    auto& deleted = deleted_.at(partition);
    if (before <= deleted) return;
    deleted = before;
    cluster_.delete_before(topic_, partition, before);
  }

  void require_caught_up() {
    ends_ = cluster_.ends(topic_, kPartitions);
    const auto caught_up = [&] {
      return frontiers_of(lasting_, lasting_.steady()) == ends_ &&
             frontiers_of(lasting_, lasting_.hit()) == ends_ &&
             frontiers_of(mortal_, mortal_.mortal()) == ends_;
    };
    const bool all = test::eventually(caught_up, size_.catch_up);
    if (!all) {
      tell_progress(lasting_, lasting_.steady());
      tell_progress(lasting_, lasting_.hit());
      tell_progress(mortal_, mortal_.mortal());
      std::cout << tail_of(lasting_.run().program().err_file()) << '\n'
                << tail_of(mortal_.program().err_file()) << std::endl;
      keep_logs();
    }
    REQUIRE(all);
  }

  void tell_progress(const test::JobFolder& host, const SoakJob& job) {
    const auto frontiers = frontiers_of(host, job);
    if (frontiers == ends_) return;
    std::cout << job.name << ": frontiers";
    for (const auto frontier : frontiers) std::cout << ' ' << frontier;
    std::cout << ", ends";
    for (const auto end : ends_) std::cout << ' ' << end;
    std::cout << std::endl;
  }

  void require_flat(const Look& before) {
    const auto after = look();
    CHECK(after.host_memory.rss_anon_kb <= before.host_memory.rss_anon_kb + kGrowthMaxKb);
    CHECK(after.host.threads == before.host.threads);
    CHECK(after.host.segments == before.host.segments);
    CHECK(after.host.mappings < before.host.mappings + struck_[Blow::Worker] / 4 + 8);
    CHECK(after.host.descriptors <= before.host.descriptors + kConnections);
    REQUIRE(after.workers.size() == before.workers.size());
    for (const auto& [pid, was] : before.workers) {
      REQUIRE(after.workers.contains(pid));
      const auto& is = after.workers.at(pid);
      CHECK(is.rss_anon_kb <= was.rss_anon_kb + kGrowthMaxKb);
      CHECK(is.threads == was.threads);
      CHECK(is.mappings < was.mappings + 8);
      CHECK(is.descriptors <= was.descriptors + kConnections);
    }
  }

  /// Of steady and hit after the end of their host: one that is started again answers for it.
  void require_accounted(test::JobFolder& host, const SoakJob& job) {
    INFO(job.name);
    const bool runs = &host == &mortal_;
    const auto again = runs ? nullptr : host.host();
    const auto audited = [&] { return host.sluice_job({"audit", job.name}).exit == 0; };
    const bool proved = test::eventually(audited, kGiveUp);
    if (!proved) std::cout << host.sluice_job({"audit", job.name}).out << std::endl;
    CHECK(proved);
    const auto lines = test::read_ledger(job.ledger);
    const auto gaps = test::stored_gaps(host.state_dir(), job.name);
    const SoakInput input{ends_, deleted_, letters_of(cluster_.bootstrap_servers(), job)};
    CHECK(input.letters.empty() == job.dlq.empty());
    const auto faults = faults_of_account(input, lines, gaps);
    CHECK(faults == std::vector<std::string>{});
    if (!faults.empty() || !proved) keep_logs();
    std::set<std::int64_t> dead;
    for (const auto& line : lines) dead.insert(line.pid);
    for (const auto pid : test::workers_below(runs ? mortal_.program().pid() : lasting_.pid())) {
      dead.erase(pid);
    }
    const auto twice = test::require_only_interrupted_slices_again(host.state_dir(), job.name,
                                                                   outside_gaps(lines, gaps), dead);
    std::cout << job.name << ": " << lines.size() << " lines by " << dead.size()
              << " dead workers, " << gaps.size() << " gaps, " << input.letters.size()
              << " dead letters, " << twice.records << " records again" << std::endl;
    if (again) {
      CHECK(again->stop() == 0);
    }
  }

  /// Whether what should happen did.
  static bool has_expired(const test::JobFolder& host, const SoakJob& job) {
    const auto gaps = test::stored_gaps(host.state_dir(), job.name);
    return std::any_of(gaps.begin(), gaps.end(),
                       [](const auto& gap) { return gap.cause == state::Cause::Expired; });
  }

  /// What the hosts said, for whoever looks into a failure.
  void keep_logs() {
    const auto kept = std::filesystem::temp_directory_path() / topic_;
    keep_files(lasting_.folder().path(), kept / "lasting");
    keep_files(mortal_.folder().path(), kept / "mortal");
    std::cout << "logs, ledgers and stores are kept in " << kept << std::endl;
  }

  /// All but sockets, which cannot be copied.
  static void keep_files(const std::filesystem::path& from, const std::filesystem::path& to) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator{from}) {
      if (!entry.is_regular_file()) continue;
      const auto copy = to / entry.path().lexically_relative(from);
      std::filesystem::create_directories(copy.parent_path());
      std::filesystem::copy_file(entry.path(), copy);
    }
  }

  SoakCluster& cluster_;
  Size size_;
  std::uint64_t seed_;
  Random random_;
  std::string topic_;
  LastingHost lasting_;
  MortalHost mortal_;
  std::unique_ptr<PacedProducer> producer_;
  Clock::time_point begin_;
  std::vector<std::int64_t> deleted_;
  std::vector<std::int64_t> ends_;
  std::map<Blow, int> struck_;
};

}  // namespace

TEST_CASE(
    "under kills, broker restarts, expiry and poison every record is put out or on record,"
    " and nothing grows",
    "[soak]") {
  RestartedBroker cluster;
  Soak{cluster, size_of_run()}.run();
}

TEST_CASE(
    "under kills, moving leaders and poison every record is put out or on record, and nothing"
    " grows",
    "[soak]") {
  MovingLeaders cluster;
  Soak{cluster, size_of_run()}.run();
}

}  // namespace sluice::tests
