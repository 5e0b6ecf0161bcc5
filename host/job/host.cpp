#include "host/job/host.hpp"

#include <sys/prctl.h>

#include <csignal>
#include <utility>

#include "host/state/sqlite_store.hpp"

namespace sluice::job {
namespace {

/// How long a new host waits for the processes of an old one to be gone (slicer.md S8).
constexpr Milliseconds kLockPatience{30'000};

state::StateThreadOptions state_options(const log::Logger& log) {
  state::StateThreadOptions options;
  options.on_trouble = [log](const Error& error) {
    log.error(error.message() + "; nothing is lost, the same rows are written again");
  };
  options.on_recovered = [log] { log.info("the state store takes rows again"); };
  return options;
}

}  // namespace

Result<std::filesystem::path> find_worker_executable() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{ErrorCode::Io, "own path: /proc/self/exe: " + error.message()};
  const auto bin = self.parent_path();
  for (const auto& worker : {bin / "sluice-worker", bin / "../libexec/sluice/sluice-worker"}) {
    if (std::filesystem::exists(worker, error)) return worker.lexically_normal();
  }
  return Error{ErrorCode::NotFound, "worker executable: sluice-worker is neither beside " +
                                        self.string() + " nor in ../libexec/sluice"};
}

Result<std::unique_ptr<Host>> Host::open(const HostOptions& options, const Clock& clock,
                                         log::Logger log) {
  // Workers run as the same user: none of them may trace the host or write to its memory.
  ::prctl(PR_SET_DUMPABLE, 0);
  auto lock = state::DirectoryLock::acquire(
      options.state_dir, kLockPatience, [&log](const std::string& holders) {
        log.warning("state directory is held by " + holders + "; waiting for them to be gone");
      });
  if (!lock) return lock.error();
  auto store = state::open_sqlite_store(*lock);
  if (!store) return store.error();
  auto alive = supervisor::create_host_alive_pipe();
  if (!alive) return alive.error();
  auto committed = kafka::HostClient::create(options.kafka, kafka::IsolationLevel::ReadCommitted);
  if (!committed) return committed.error();
  auto uncommitted =
      kafka::HostClient::create(options.kafka, kafka::IsolationLevel::ReadUncommitted);
  if (!uncommitted) return uncommitted.error();
  return std::unique_ptr<Host>{new Host{options, clock, std::move(log), *std::move(lock),
                                        *std::move(store), *std::move(committed),
                                        *std::move(uncommitted), *std::move(alive)}};
}

Host::Host(const HostOptions& options, const Clock& clock, log::Logger log,
           state::DirectoryLock lock, std::unique_ptr<state::StateStore> store,
           std::unique_ptr<kafka::HostClient> read_committed,
           std::unique_ptr<kafka::HostClient> read_uncommitted, supervisor::HostAlivePipe alive)
    : log_{std::move(log)},
      lock_{std::move(lock)},
      alive_{std::move(alive)},
      read_committed_{std::move(read_committed)},
      read_uncommitted_{std::move(read_uncommitted)},
      identity_{store->identity()},
      state_{std::move(store), clock, state_options(log_)},
      services_{loop_,
                kafka_thread_,
                state_,
                clock,
                log_,
                *read_committed_,
                *read_uncommitted_,
                options.kafka,
                options.worker_executable,
                identity_.store_id,
                identity_.host_incarnation,
                options.slices_per_second_max,
                alive_.read_end.get(),
                lock_.fd()} {
  watch_clients();
}

Host::~Host() = default;

void Host::watch_clients() {
  for (auto* client : {read_committed_.get(), read_uncommitted_.get()}) {
    watches_.push_back(loop_.watch_readable(client->event_fd(), [this, client] { poll(*client); }));
  }
  watches_.push_back(loop_.every(Milliseconds{1000}, [this] {
    poll(*read_committed_);
    poll(*read_uncommitted_);
    log_.tick();
  }));
  watches_.push_back(loop_.on_signals({SIGINT, SIGTERM, SIGHUP}, [this](int) { stop(); }));
}

void Host::poll(kafka::HostClient& client) {
  client.poll();
  for (const auto& event : client.take_client_events()) {
    const std::string name{kafka::client_event_name(event.kind)};
    const auto level = event.kind == kafka::ClientEventKind::Authentication ||
                               event.kind == kafka::ClientEventKind::Fatal
                           ? log::Level::Error
                           : log::Level::Warning;
    log_.limited(level, "kafka." + name, "kafka: " + event.text);
  }
}

void Host::add_job(JobPlan plan, JobObserver* observer) {
  jobs_.push_back(
      std::make_unique<JobRuntime>(services_, std::move(plan), observer, [this] { job_ended(); }));
  loop_.post([job = jobs_.back().get()] { job->start(); });
}

std::vector<JobStatus> Host::status() const {
  std::vector<JobStatus> all;
  for (const auto& job : jobs_) all.push_back(job->status());
  return all;
}

std::vector<state::SliceRow> Host::open_slices(const std::string& job) const {
  for (const auto& runtime : jobs_) {
    if (runtime->name() == job) return runtime->open_slices();
  }
  return {};
}

void Host::run(Until until) {
  until_ = until;
  end_if_done();
  loop_.run();
}

void Host::stop() {
  if (std::exchange(stopping_, true)) return;
  for (const auto& job : jobs_) job->stop();
  end_if_done();
}

void Host::job_ended() {
  ++jobs_ended_;
  end_if_done();
}

void Host::end_if_done() {
  if (jobs_ended_ < jobs_.size()) return;
  if (until_ == Until::Stopped && !stopping_) return;
  loop_.post([this] { loop_.stop(); });
}

}  // namespace sluice::job
