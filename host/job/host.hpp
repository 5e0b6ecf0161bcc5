// The host process: the loop's thread, the Kafka thread and the state thread, the state directory
// and its lock, and the jobs that run. `sluice run` has one job and ends with it; `sluice host` has
// those of a folder and ends when it is told to. It never reads a record and loads no plugin.
//
// Everything here is for the thread that calls open() and run(): workers are spawned from it, and
// their PR_SET_PDEATHSIG is tied to it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
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
  void add_job(JobPlan plan, JobObserver* observer = nullptr, StartBy by = StartBy::User);
  std::vector<JobStatus> status() const;
  /// Of one job; nothing for an unknown one.
  std::optional<JobStatus> status(const std::string& job) const;
  std::vector<std::string> job_names() const;
  const std::filesystem::path& state_dir() const { return lock_.directory(); }
  /// Slices of the job that have a number and are not settled; empty for an unknown job.
  std::vector<state::SliceRow> open_slices(const std::string& job) const;

  /// JobRuntime::recover of a job of this name; NotFound if there is none. Loop thread.
  void recover(const std::string& job, const RecoverRequest& request,
               std::function<void(Result<RecoverAnswer>)> answer);

  // What users ask of a job. Each is carried out at once; `done` is called on the loop when it is
  // durable too, so that it holds over a restart of the host. NotFound, or Refused with why.
  enum class Steering {
    Pause,    ///< publishes nothing more; workers stay
    Resume,   ///< of a paused or stopped job
    Stop,     ///< drains; the job stays known
    Restart,  ///< halted partitions; a job that has ended starts anew, a once job's next execution
  };
  using Done = std::function<void(Result<>)>;
  void steer(const std::string& job, Steering what, Done done);
  /// The next start of a stopped job begins at `from` (parse_start_from), S7.
  void reset_offsets(const std::string& job, const std::string& from, Done done);
  Result<> set_tasks(const std::string& job, std::uint32_t tasks);

  enum class Until { JobsEnded, Stopped };
  /// Serves until every job has ended (or, with Stopped, until stop() and then every job's end).
  /// SIGTERM is stop(), and so are SIGINT and SIGHUP unless the process was started with them
  /// ignored; a second one changes nothing, and from the end of the Host on they are blocked in its
  /// thread: what is left to do then is to leave.
  void run(Until until);
  /// Every job drains.
  void stop();

 private:
  Host(const HostOptions& options, const Clock& clock, log::Logger log, state::DirectoryLock lock,
       std::unique_ptr<state::StateStore> store, std::unique_ptr<kafka::HostClient> read_committed,
       std::unique_ptr<kafka::HostClient> read_uncommitted, supervisor::HostAlivePipe alive,
       ipc::OwnedFd worker);

  state::StateThreadOptions state_options();
  void watch_clients();
  void poll(kafka::HostClient& client);
  /// A job over its lives: each start of it is a JobRuntime of its own.
  struct HostedJob {
    JobPlan plan;
    JobObserver* observer = nullptr;
    std::unique_ptr<JobRuntime> runtime{};
    bool ended = false;
    bool start_again = false;  ///< asked for while it was stopping
  };

  HostedJob* find(const std::string& job);
  JobStatus status_of(const HostedJob& job) const;
  void begin_life(HostedJob& job, StartBy by);
  Result<> carry_out(HostedJob& job, Steering what);
  Result<> begin_again(HostedJob& job);
  void change_settings(const std::string& job, std::function<void(state::JobSettings&)> change,
                       Done done);
  void job_ended(HostedJob& job);
  void end_if_done();

  // Destroyed in the reverse order: jobs first, then what they use, the lock last.
  log::Logger log_;
  state::DirectoryLock lock_;
  supervisor::HostAlivePipe alive_;
  ipc::OwnedFd worker_;  ///< the executable as it was when we started
  EventLoop loop_;
  std::shared_ptr<kafka::HostClient> read_committed_;
  std::shared_ptr<kafka::HostClient> read_uncommitted_;
  state::StoreIdentity identity_;
  std::string store_trouble_;  ///< why the store takes no rows; empty: it does
  state::StateThread state_;
  SerialThread kafka_thread_;
  HostServices services_;
  std::vector<std::unique_ptr<HostedJob>> jobs_;
  std::vector<std::unique_ptr<EventLoop::Watch>> watches_;
  Until until_ = Until::JobsEnded;
  bool stopping_ = false;
};

}  // namespace sluice::job
