#include "host/job/worker_setup.hpp"

namespace sluice::job {
namespace {

/// Workers that one host may start before their incarnations would reach the next host's.
constexpr int kIncarnationBits = 32;

slicer::ExpiredPolicy expired_policy(const config::JobConfig& job) {
  switch (job.auto_offset_reset) {
    case config::OffsetReset::Latest:
      return slicer::ExpiredPolicy::Latest;
    case config::OffsetReset::None:
      return slicer::ExpiredPolicy::None;
    case config::OffsetReset::Earliest:
      break;
  }
  return slicer::ExpiredPolicy::Earliest;
}

slicer::OnFailure on_failure(const config::JobConfig& job) {
  switch (job.slice_on_failure) {
    case config::OnFailure::Park:
      return slicer::OnFailure::Park;
    case config::OnFailure::Isolate:
      return slicer::OnFailure::Isolate;
    case config::OnFailure::Halt:
      break;
  }
  return slicer::OnFailure::Halt;
}

slicer::Assignment assignment(const config::JobConfig& job) {
  switch (job.slicer_assignment) {
    case config::Assignment::Linear:
      return slicer::Assignment::Linear;
    case config::Assignment::Any:
      return slicer::Assignment::Any;
    case config::Assignment::Sticky:
      break;
  }
  return slicer::Assignment::Sticky;
}

std::optional<worker::DeadLetterParameters> dead_letters(const config::JobConfig& job) {
  if (job.errors_deadletterqueue_topic_name.empty()) return std::nullopt;
  worker::DeadLetterParameters wanted;
  wanted.topic = job.errors_deadletterqueue_topic_name;
  wanted.context_headers = job.errors_deadletterqueue_context_headers_enable
                               ? worker::ContextHeaders::On
                               : worker::ContextHeaders::Off;
  if (const auto& rate = job.errors_deadletterqueue_rate_max) {
    wanted.rate_max = static_cast<std::uint32_t>(*rate);
  }
  if (job.errors_retry_timeout_ms) {
    wanted.patience_ms = *job.errors_retry_timeout_ms;
  } else if (job.task_retry_timeout_ms >= 0) {
    wanted.patience_ms = job.task_retry_timeout_ms;
  }
  return wanted;
}

void append(worker::Properties& to, const kafka::Properties& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::string group_name(const std::string& job) {
  return "connect-" + job;
}

ResetPolicy reset_policy(const config::JobConfig& job) {
  switch (job.auto_offset_reset) {
    case config::OffsetReset::Latest:
      return ResetPolicy::Latest;
    case config::OffsetReset::None:
      return ResetPolicy::None;
    case config::OffsetReset::Earliest:
      break;
  }
  return ResetPolicy::Earliest;
}

slicer::SlicerOptions slicer_options(const config::JobConfig& job, const Clock& clock) {
  slicer::SlicerOptions options;
  options.mode = job.mode == config::Mode::Once ? slicer::Mode::Once : slicer::Mode::Persistent;
  options.assignment = assignment(job);
  options.on_failure = on_failure(job);
  options.dead_letters = job.errors_deadletterqueue_topic_name.empty() ? slicer::DeadLetters::None
                                                                       : slicer::DeadLetters::Topic;
  options.isolate_max = static_cast<std::uint32_t>(job.slice_isolate_max);
  options.expired = expired_policy(job);
  options.slots = static_cast<std::uint32_t>(job.tasks_max);
  options.standby = static_cast<std::uint32_t>(job.worker_standby);
  options.slice_records_max = job.slice_max_records;
  options.slice_bytes_max = job.slice_max_bytes;
  options.attempts_max = static_cast<std::uint32_t>(job.slice_attempts_max);
  options.credit_slices = static_cast<std::uint32_t>(job.worker_credit_slices);
  options.credit_records = job.worker_credit_records;
  options.retry_delay_max = Milliseconds{job.errors_retry_delay_max_ms};
  if (job.restart_policy == config::RestartPolicy::Backoff) {
    options.restarts_max = job.restart_max;
    options.restart_backoff = Milliseconds{job.restart_backoff_ms};
    options.restart_backoff_max = Milliseconds{job.restart_backoff_max_ms};
    options.restart_reset = Milliseconds{job.restart_reset_ms};
  }
  options.rebalance_delay = Milliseconds{job.worker_rebalance_delay_ms};
  options.unix_ms_at_zero = clock.unix_ms() - clock.monotonic().count();
  return options;
}

supervisor::SupervisorOptions supervisor_options(const config::JobConfig& job,
                                                 std::uint64_t host_incarnation) {
  supervisor::SupervisorOptions options;
  options.slots = static_cast<std::uint32_t>(job.tasks_max + job.worker_standby);
  options.first_incarnation = host_incarnation << kIncarnationBits;
  options.call_timeout = Milliseconds{job.task_call_timeout_ms};
  options.stop_timeout = Milliseconds{job.task_stop_timeout_ms};
  options.memory_bytes_max = static_cast<std::uint64_t>(job.worker_memory_max.value_or(0));
  return options;
}

worker::StartParameters start_parameters(const config::JobConfig& job,
                                         const std::vector<std::string>& topics,
                                         const std::vector<worker::PluginInstance>& plugins,
                                         const kafka::Properties& host_kafka,
                                         std::uint64_t execution, std::uint32_t slot,
                                         std::uint64_t incarnation) {
  worker::StartParameters parameters;
  parameters.job = job.name;
  parameters.execution = execution;
  parameters.slot = slot;
  parameters.incarnation = incarnation;
  for (const auto& topic : topics) parameters.topics.push_back({topic, 1});
  parameters.plugins = plugins;
  append(parameters.consumer, host_kafka);
  parameters.consumer.emplace_back("isolation.level",
                                   job.isolation_level == config::Isolation::ReadCommitted
                                       ? "read_committed"
                                       : "read_uncommitted");
  append(parameters.consumer, job.consumer);
  append(parameters.producer, host_kafka);
  append(parameters.producer, job.producer);
  parameters.batch.records_max = static_cast<std::uint32_t>(job.worker_batch_max_records);
  parameters.batch.bytes_max = static_cast<std::uint64_t>(job.worker_batch_max_bytes);
  parameters.flush.records_max = static_cast<std::uint32_t>(job.worker_flush_max_records);
  parameters.flush.bytes_max = static_cast<std::uint64_t>(job.worker_flush_max_bytes);
  parameters.flush.interval_ms = static_cast<std::uint32_t>(job.worker_flush_interval_ms);
  parameters.retry.task_retry_timeout_ms = job.task_retry_timeout_ms;
  parameters.retry.errors_retry_timeout_ms = job.errors_retry_timeout_ms;
  parameters.retry.delay_max_ms = static_cast<std::uint32_t>(job.errors_retry_delay_max_ms);
  parameters.tolerance = job.errors_tolerance == config::ErrorsTolerance::All
                             ? worker::ErrorsTolerance::All
                             : worker::ErrorsTolerance::None;
  parameters.dead_letters = dead_letters(job);
  parameters.core_files = job.worker_core ? worker::CoreFiles::On : worker::CoreFiles::Off;
  parameters.stop_timeout_ms = static_cast<std::uint32_t>(job.task_stop_timeout_ms);
  return parameters;
}

}  // namespace sluice::job
