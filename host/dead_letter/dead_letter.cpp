#include "host/dead_letter/dead_letter.hpp"

#include <algorithm>
#include <utility>

namespace sluice::dead_letter {

namespace {

constexpr std::size_t kHostHeadersMax = 13;

/// exception.class.name: what a Java reader would branch on.
std::string_view class_of(const Cause& cause) {
  if (cause.stage == kStageCrash) return "WorkerCrashed";
  if (cause.stage == kStageHang) return "WorkerHung";
  return "RecordFailed";
}

/// In the shape of a Java stack trace, whose first line tools show.
std::string trace_of(const Cause& cause) {
  std::string trace{class_of(cause)};
  if (!cause.why.empty()) trace += ": " + cause.why;
  if (!cause.plugin.empty()) trace += "\n\tat " + cause.plugin;
  if (!cause.plugin.empty() && !cause.call.empty()) trace += "." + cause.call;
  return trace;
}

}  // namespace

DeadLetter::DeadLetter(const sluice_record& original, const Origin& origin, const Cause& cause,
                       Context context) {
  headers_.reserve(original.header_count + kHostHeadersMax);
  headers_.assign(original.headers, original.headers + original.header_count);
  if (context != Context::None) add_context(original, origin, cause, context);
  record_.key = original.key;
  record_.value = original.value;
  record_.timestamp_ms = std::max(original.timestamp_ms, kafka::kTimestampNow);
  record_.headers = headers_;
}

void DeadLetter::add(std::string_view name, std::string value) {
  const std::string& kept = values_.emplace_back(std::move(value));
  // Not null when empty: a header that is there has a value.
  headers_.push_back({{name.data(), name.size()}, {kept.data(), kept.size()}});
}

void DeadLetter::add_context(const sluice_record& original, const Origin& origin,
                             const Cause& cause, Context context) {
  add("__connect.errors.topic", std::string{origin.topic});
  add("__connect.errors.partition", std::to_string(original.partition));
  add("__connect.errors.offset", std::to_string(original.offset));
  add("__connect.errors.connector.name", std::string{origin.job});
  add("__connect.errors.task.id", std::to_string(origin.task));
  add("__connect.errors.stage", cause.stage);
  add("__connect.errors.class.name", cause.plugin);
  add("__connect.errors.exception.class.name", std::string{class_of(cause)});
  if (context == Context::Full) {
    add("__connect.errors.exception.message", cause.why);
    add("__connect.errors.exception.stacktrace", trace_of(cause));
  }
  if (cause.death) add_death(*cause.death);
}

void DeadLetter::add_death(const WorkerDeath& death) {
  add("__sluice.errors.worker", death.worker);
  add("__sluice.errors.signal", std::to_string(death.signal));
  if (death.plugin_sha256.empty()) return;
  add("__sluice.errors.plugin.sha256", death.plugin_sha256);
}

}  // namespace sluice::dead_letter
