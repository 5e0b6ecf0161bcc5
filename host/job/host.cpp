#include "host/job/host.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "host/state/sqlite_store.hpp"

namespace sluice::job {
namespace {

/// How long a new host waits for the processes of an old one to be gone (slicer.md S8).
constexpr Milliseconds kLockPatience{30'000};
/// How long a host that has drained waits for the last question to Kafka, so that its clients close
/// their connections; brokers that do not answer must not hold it up.
constexpr Milliseconds kKafkaPatience{500};
constexpr Milliseconds kTrimPeriod{10'000};
/// Above it nothing is gained, and some kernels have billions.
constexpr rlim_t kDescriptorsMax = 1U << 20U;
constexpr int kOwnPagesFrom = 128 * 1024;

constexpr std::initializer_list<int> kStopSignals = {SIGINT, SIGTERM, SIGHUP};

/// Answers about 10,000 partitions are buffers of some MB, made and freed again and again. glibc
/// takes them from the heap once it has seen a few freed, and what is allocated between them keeps
/// their pages: 9 MB. Where the threshold is set it stays: each such buffer has pages of its own,
/// and gives them back.
void keep_large_buffers_out_of_the_heap() {
  ::mallopt(M_MMAP_THRESHOLD, kOwnPagesFrom);
}

/// A worker costs the host some eight descriptors, and each Kafka client one per broker. The soft
/// limit, 1,024 nearly everywhere, is for programs that use select().
void take_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kDescriptorsMax);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// As nohup and the shells say it: who starts us with a signal ignored wants it ignored.
std::vector<int> stopping_signals() {
  std::vector<int> signals;
  for (const int signal : kStopSignals) {
    struct sigaction now {};
    const bool is_known = ::sigaction(signal, nullptr, &now) == 0;
    if (signal == SIGTERM || !is_known || now.sa_handler != SIG_IGN) signals.push_back(signal);
  }
  return signals;
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
  // A file at the limit of its size is a write that fails, like a full disk, not the host's end.
  ::signal(SIGXFSZ, SIG_IGN);
  keep_large_buffers_out_of_the_heap();
  take_all_descriptors();
  auto lock = state::DirectoryLock::acquire(
      options.state_dir, kLockPatience,
      [&log](const std::string& in_use) { log.warning(in_use + "; waiting for it to end"); });
  if (!lock) return lock.error();
  auto store = state::open_sqlite_store(*lock);
  if (!store) return store.error();
  auto alive = supervisor::create_host_alive_pipe();
  if (!alive) return alive.error();
  ipc::OwnedFd worker{::open(options.worker_executable.c_str(), O_PATH | O_CLOEXEC)};
  if (!worker) return io_error("open worker executable", options.worker_executable.string(), errno);
  auto committed = kafka::HostClient::create(options.kafka, kafka::IsolationLevel::ReadCommitted);
  if (!committed) return committed.error();
  auto uncommitted =
      kafka::HostClient::create(options.kafka, kafka::IsolationLevel::ReadUncommitted);
  if (!uncommitted) return uncommitted.error();
  return std::unique_ptr<Host>{new Host{
      options, clock, std::move(log), *std::move(lock), *std::move(store), *std::move(committed),
      *std::move(uncommitted), *std::move(alive), std::move(worker)}};
}

Host::Host(const HostOptions& options, const Clock& clock, log::Logger log,
           state::DirectoryLock lock, std::unique_ptr<state::StateStore> store,
           std::unique_ptr<kafka::HostClient> read_committed,
           std::unique_ptr<kafka::HostClient> read_uncommitted, supervisor::HostAlivePipe alive,
           ipc::OwnedFd worker)
    : log_{std::move(log)},
      lock_{std::move(lock)},
      alive_{std::move(alive)},
      worker_{std::move(worker)},
      read_committed_{std::move(read_committed)},
      read_uncommitted_{std::move(read_uncommitted)},
      identity_{store->identity()},
      state_{std::move(store), clock, state_options()},
      kafka_thread_{"sluice-kafka", kKafkaPatience, {read_committed_, read_uncommitted_}},
      services_{loop_,
                kafka_thread_,
                state_,
                clock,
                log_,
                *read_committed_,
                *read_uncommitted_,
                options.kafka,
                options.worker_executable,
                worker_.get(),
                identity_.store_id,
                identity_.host_incarnation,
                options.slices_per_second_max,
                alive_.read_end.get(),
                lock_.fd()} {
  watch_clients();
}

// Its signals have their default action again when the watch on them is gone; one that comes late
// must not end the process in place of its exit code.
Host::~Host() {
  sigset_t late;
  ::sigemptyset(&late);
  for (const int signal : kStopSignals) ::sigaddset(&late, signal);
  ::pthread_sigmask(SIG_BLOCK, &late, nullptr);
}

/// The state thread tells its trouble; the loop's thread keeps it for status().
state::StateThreadOptions Host::state_options() {
  state::StateThreadOptions options;
  options.on_trouble = [this](const Error& error) {
    log_.error(error.message() + "; nothing is lost, the same rows are written again");
    loop_.post([this, text = error.message()] { store_trouble_ = text; });
  };
  options.on_recovered = [this] {
    log_.info("the state store takes rows again");
    loop_.post([this] { store_trouble_.clear(); });
  };
  return options;
}

void Host::watch_clients() {
  for (auto* client : {read_committed_.get(), read_uncommitted_.get()}) {
    watches_.push_back(loop_.watch_readable(client->event_fd(), [this, client] { poll(*client); }));
  }
  watches_.push_back(loop_.every(Milliseconds{1000}, [this] {
    poll(*read_committed_);
    poll(*read_uncommitted_);
    log_.tick();
  }));
  // What starts, ends of commits and looks of users leave holes in the heap, some MB with 10,000
  // partitions: glibc gives back nothing below its top unless it is asked.
  watches_.push_back(loop_.every(kTrimPeriod, [] { ::malloc_trim(0); }));
  watches_.push_back(loop_.on_signals(stopping_signals(), [this](int) { stop(); }));
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

void Host::add_job(JobPlan plan, JobObserver* observer, StartBy by) {
  jobs_.push_back(std::make_unique<HostedJob>(HostedJob{std::move(plan), observer}));
  begin_life(*jobs_.back(), by);
}

void Host::begin_life(HostedJob& job, StartBy by) {
  job.ended = job.start_again = false;
  job.runtime = std::make_unique<JobRuntime>(services_, job.plan, job.observer,
                                             [this, &job] { job_ended(job); });
  job.plan.from.reset();  // of the first life alone
  loop_.post([&job, life = job.runtime.get(), by] {
    if (job.runtime.get() == life) life->start(by);
  });
}

std::vector<JobStatus> Host::status() const {
  std::vector<JobStatus> all;
  for (const auto& job : jobs_) all.push_back(status_of(*job));
  return all;
}

std::optional<JobStatus> Host::status(const std::string& job) const {
  for (const auto& hosted : jobs_) {
    if (hosted->runtime->name() == job) return status_of(*hosted);
  }
  return std::nullopt;
}

JobStatus Host::status_of(const HostedJob& job) const {
  auto status = job.runtime->status();
  if (!job.ended && !store_trouble_.empty()) status.waiting.push_back(store_trouble_);
  return status;
}

std::vector<std::string> Host::job_names() const {
  std::vector<std::string> names;
  for (const auto& job : jobs_) names.push_back(job->runtime->name());
  return names;
}

std::vector<state::SliceRow> Host::open_slices(const std::string& job) const {
  for (const auto& hosted : jobs_) {
    if (hosted->runtime->name() == job) return hosted->runtime->open_slices();
  }
  return {};
}

void Host::recover(const std::string& job, const RecoverRequest& request,
                   std::function<void(Result<RecoverAnswer>)> answer) {
  if (auto* hosted = find(job)) return hosted->runtime->recover(request, std::move(answer));
  answer(Error{ErrorCode::NotFound, "there is no job " + job});
}

void Host::run(Until until) {
  until_ = until;
  end_if_done();
  loop_.run();
}

void Host::stop() {
  if (std::exchange(stopping_, true)) return;
  for (const auto& job : jobs_) {
    job->start_again = false;
    if (!job->ended) job->runtime->stop();
  }
  end_if_done();
}

void Host::job_ended(HostedJob& job) {
  job.ended = true;
  if (job.start_again && !stopping_) {
    // Not under the feet of the runtime that calls this.
    loop_.post([this, &job] {
      if (job.ended && job.start_again) begin_life(job, StartBy::User);
    });
    return;
  }
  end_if_done();
}

void Host::end_if_done() {
  const bool all_ended =
      std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->ended; });
  if (!all_ended || (until_ == Until::Stopped && !stopping_)) return;
  loop_.post([this] { loop_.stop(); });
}

}  // namespace sluice::job
