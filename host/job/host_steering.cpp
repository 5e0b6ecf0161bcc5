// What users ask of a host's jobs: carried out on the loop at once, made durable on the state
// thread, and answered when it is. A job's lives follow each other; none begins before the last has
// ended.
#include <utility>

#include "host/job/host.hpp"

namespace sluice::job {
namespace {

using Target = state::JobSettings::Target;

Target target_after(Host::Steering what) {
  switch (what) {
    case Host::Steering::Pause:
      return Target::Paused;
    case Host::Steering::Stop:
      return Target::Stopped;
    case Host::Steering::Resume:
    case Host::Steering::Restart:
      break;
  }
  return Target::Started;
}

Error refused(const std::string& job, JobState state, std::string_view instead) {
  return Error{ErrorCode::Refused, "job " + job + " is " + std::string{job_state_name(state)} +
                                       "; " + std::string{instead}};
}

}  // namespace

Host::HostedJob* Host::find(const std::string& job) {
  for (const auto& hosted : jobs_) {
    if (hosted->runtime->name() == job) return hosted.get();
  }
  return nullptr;
}

void Host::steer(const std::string& job, Steering what, Done done) {
  auto* const hosted = find(job);
  if (hosted == nullptr) return done(Error{ErrorCode::NotFound, "there is no job " + job});
  if (stopping_) return done(Error{ErrorCode::Refused, "the host is stopping"});
  const bool was_paused = hosted->runtime->state() == JobState::Paused;
  if (const auto fine = carry_out(*hosted, what); !fine) return done(fine.error());
  // A restart of halted partitions does not take back a pause.
  if (what == Steering::Restart && was_paused) return done({});
  change_settings(
      job, [target = target_after(what)](auto& settings) { settings.target = target; },
      std::move(done));
}

Result<> Host::carry_out(HostedJob& job, Steering what) {
  auto& runtime = *job.runtime;
  const bool stopping =
      !job.ended && runtime.state() >= JobState::Stopping && runtime.state() != JobState::Paused;
  switch (what) {
    case Steering::Stop:
      job.start_again = false;
      if (!job.ended) runtime.stop();
      return {};
    case Steering::Pause:
      if (job.ended || stopping) {
        return refused(runtime.name(), runtime.state(), "only a running job can be paused");
      }
      return runtime.pause();
    case Steering::Resume:
      if (job.ended && runtime.state() != JobState::Stopped) {
        return refused(runtime.name(), runtime.state(), "restart it: `sluice job restart`");
      }
      return job.ended || stopping ? begin_again(job) : runtime.resume();
    case Steering::Restart:
      if (job.ended || stopping) return begin_again(job);
      if (!runtime.has_lost_group()) return runtime.restart_halted();
      // Only a start asks who lives in the group, and commits to it (S3).
      job.start_again = true;
      runtime.stop();
      return {};
  }
  return {};
}

Result<> Host::begin_again(HostedJob& job) {
  if (!job.ended) {
    job.start_again = true;
    return {};
  }
  begin_life(job, StartBy::User);
  return {};
}

void Host::reset_offsets(const std::string& job, const std::string& from, Done done) {
  auto* const hosted = find(job);
  if (hosted == nullptr) return done(Error{ErrorCode::NotFound, "there is no job " + job});
  if (const auto parsed = parse_start_from(from); !parsed) return done(parsed.error());
  if (!hosted->ended) {
    return done(refused(job, hosted->runtime->state(),
                        "stop it before its offsets are reset: `sluice job stop`"));
  }
  change_settings(
      job, [from](auto& settings) { settings.start_from = from; }, std::move(done));
}

Result<> Host::set_tasks(const std::string& job, std::uint32_t tasks) {
  auto* const hosted = find(job);
  if (hosted == nullptr) return Error{ErrorCode::NotFound, "there is no job " + job};
  return hosted->runtime->set_tasks(tasks);
}

void Host::change_settings(const std::string& job, std::function<void(state::JobSettings&)> change,
                           Done done) {
  state_.run(
      [this, job, change = std::move(change), done = std::move(done)](state::StateStore& store) {
        auto settings = store.settings(job);
        Result<> result;
        if (settings) {
          change(*settings);
          result = store.set_settings(job, *settings);
        } else {
          result = settings.error();
        }
        loop_.post([done, result] { done(result); });
      });
}

}  // namespace sluice::job
