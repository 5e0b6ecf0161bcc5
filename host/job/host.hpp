// The host process: the loop's thread, the Kafka thread and the state thread, the state directory
// and its lock, and the jobs that run. `sluice run` has one job and ends with it; `sluice host` has
// those of a folder and ends when it is told to. It never reads a record and loads no plugin.
//
// Everything here is for the thread that calls open() and run(): workers are spawned from it, and
// their PR_SET_PDEATHSIG is tied to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "host/base/clock.hpp"
#include "host/base/error.hpp"
#include "host/job/event_loop.hpp"
#include "host/job/host_services.hpp"
#include "host/job/job_runtime.hpp"
#include "host/kafka/admin.hpp"
#include "host/log/logger.hpp"
#include "host/state/directory_lock.hpp"
#include "host/state/state_thread.hpp"
#include "host/supervisor/spawner.hpp"

namespace sluice::job {

struct HostOptions {
  kafka::Properties kafka;  ///< has bootstrap.servers
  std::filesystem::path state_dir;
  std::filesystem::path worker_executable;
  std::uint32_t slices_per_second_max = 20'000;
};

/// sluice-worker, beside the running executable or in ../libexec/sluice of it.
Result<std::filesystem::path> find_worker_executable();

class Host {
 public:
  /// Opens the store, takes the state directory's lock, makes the Kafka clients and the threads.
  static Result<std::unique_ptr<Host>> open(const HostOptions& options, const Clock& clock,
                                            log::Logger log);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  EventLoop& loop() { return loop_; }
  /// Starts the job with the next turn of the loop. Requires: no job of this name. `observer` must
  /// outlive the host.
  void add_job(JobPlan plan, JobObserver* observer = nullptr);
  std::vector<JobStatus> status() const;
  /// Slices of the job that have a number and are not settled; empty for an unknown job.
  std::vector<state::SliceRow> open_slices(const std::string& job) const;

  enum class Until { JobsEnded, Stopped };
  /// Serves until every job has ended (or, with Stopped, until stop() and then every job's end).
  /// SIGINT, SIGTERM and SIGHUP are stop(); a second one changes nothing.
  void run(Until until);
  /// Every job drains.
  void stop();

 private:
  Host(const HostOptions& options, const Clock& clock, log::Logger log, state::DirectoryLock lock,
       std::unique_ptr<state::StateStore> store, std::unique_ptr<kafka::HostClient> read_committed,
       std::unique_ptr<kafka::HostClient> read_uncommitted, supervisor::HostAlivePipe alive);

  void watch_clients();
  void poll(kafka::HostClient& client);
  void job_ended();
  void end_if_done();

  // Destroyed in the reverse order: jobs first, then what they use, the lock last.
  log::Logger log_;
  state::DirectoryLock lock_;
  supervisor::HostAlivePipe alive_;
  EventLoop loop_;
  std::unique_ptr<kafka::HostClient> read_committed_;
  std::unique_ptr<kafka::HostClient> read_uncommitted_;
  state::StoreIdentity identity_;
  state::StateThread state_;
  SerialThread kafka_thread_{"sluice-kafka"};
  HostServices services_;
  std::vector<std::unique_ptr<JobRuntime>> jobs_;
  std::vector<std::unique_ptr<EventLoop::Watch>> watches_;
  std::size_t jobs_ended_ = 0;
  Until until_ = Until::JobsEnded;
  bool stopping_ = false;
};

}  // namespace sluice::job
