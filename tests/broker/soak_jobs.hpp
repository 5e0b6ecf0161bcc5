// The jobs of a soak, all over one topic, and what they and their processes are asked:
//
//   steady  ledger sink, in a host that lives through all of it; nobody kills its workers
//   hit     fault sink, in the same host; its workers are killed, poison crashes them
//   mortal  fault sink, in a host of its own, which is killed, too
//
// So steady and its host show what grows in a long life, and the other two what deaths cost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/soak_account.hpp"
#include "host/base/random.hpp"
#include "integration/host/job_folder.hpp"
#include "integration/host/observed_run.hpp"

namespace sluice::tests {

struct SoakJob {
  std::string name;
  std::filesystem::path file;
  std::filesystem::path ledger;
  std::string dlq;  ///< empty: has none, and no poison hurts it
};

/// What of a process may not grow. Descriptors and mappings: of workers only, hosts hide them.
struct Footprint {
  std::int64_t rss_anon_kb = 0;
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;
  std::int64_t mappings = 0;
};
Footprint footprint_of(pid_t pid);

/// Living workers of one job.
std::vector<pid_t> workers_of(pid_t host, const std::string& job);
/// SIGKILL to one of them; none: false.
bool kill_one(const std::vector<pid_t>& workers, Random& random);

class LastingHost : public test::JobFolder {
 public:
  LastingHost(const std::string& bootstrap_servers, const std::string& topic);

  const SoakJob& steady() const { return steady_; }
  const SoakJob& hit() const { return hit_; }
  pid_t pid() { return run_->program().pid(); }
  test::ObservedRun& run() { return *run_; }
  void start();

 private:
  std::string bootstrap_servers_;
  SoakJob steady_;
  SoakJob hit_;
  std::unique_ptr<test::ObservedRun> run_;
};

class MortalHost : public test::JobFolder {
 public:
  MortalHost(const std::string& bootstrap_servers, const std::string& topic);

  const SoakJob& mortal() const { return mortal_; }
  test::Program& program() { return *program_; }
  void start();
  /// With the workers it had. Stopped before it is looked at, so that none is missed.
  std::vector<pid_t> kill();

 private:
  SoakJob mortal_;
  std::unique_ptr<test::Program> program_;
};

/// Where the job's frontier is in each partition; none before it has begun.
std::vector<std::int64_t> frontiers_of(const test::JobFolder& host, const SoakJob& job);
/// Partition and offset of every dead letter.
std::set<Place> letters_of(const std::string& bootstrap_servers, const SoakJob& job);

}  // namespace sluice::tests
