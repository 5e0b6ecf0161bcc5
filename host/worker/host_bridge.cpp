#include "host/worker/host_bridge.hpp"

#include <utility>

#include "ipc/failure_text.hpp"

namespace sluice::worker {

namespace {

/// Cut to what an error may say (abi.h).
std::string message_of(const sluice_bytes& bytes) {
  if (bytes.data == nullptr) return {};
  const std::string_view text{static_cast<const char*>(bytes.data), bytes.size};
  return std::string{ipc::cut_at_character(text, SLUICE_ERROR_MESSAGE_MAX)};
}

LogLevel level_of(sluice_log_level level) {
  switch (level) {
    case SLUICE_LOG_ERROR:
      return LogLevel::Error;
    case SLUICE_LOG_WARNING:
      return LogLevel::Warning;
    case SLUICE_LOG_DEBUG:
      return LogLevel::Debug;
    default:
      return LogLevel::Info;
  }
}

bool is_error_sound(const sluice_error* error) {
  return error != nullptr && error->size >= sizeof(sluice_error);
}

}  // namespace

HostBridge::HostBridge(BridgeContext& context, std::size_t stage_index, std::string alias)
    : context_{context}, stage_index_{stage_index}, alias_{std::move(alias)} {
  host_.size = sizeof(host_);
  host_.abi_minor = SLUICE_ABI_MINOR;
  host_.context = this;
  host_.position = context.pulse.position_word();
  host_.set_error = &set_error;
  host_.fail_record = &fail_record;
  host_.emit = &emit;
  host_.log = &log;
  host_.slice = &slice;
  host_.topic = &topic;
  host_.request_flush = &request_flush;
  host_.keep_alive = &keep_alive;
  host_.get_extension = &get_extension;
}

HostBridge& HostBridge::of(const sluice_host* host) {
  return *static_cast<HostBridge*>(host->context);
}

void HostBridge::begin_call(const char* name) {
  call_ = name;
  said_.was_set = false;
  context_.pulse.call_into(stage_index_);
}

void HostBridge::set_error(const sluice_host* host, const sluice_error* error) noexcept {
  if (!is_error_sound(error)) return;
  SaidError& said = of(host).said_;
  said.was_set = true;
  said.code = error->code;
  said.message = message_of(error->message);
  said.key = message_of(error->key);
  said.retry_after_ms = error->retry_after_ms;
}

sluice_status HostBridge::fail_record(const sluice_host* host, std::uint64_t slice_id,
                                      std::int64_t offset, const sluice_error* why) noexcept {
  HostBridge& bridge = of(host);
  const std::string text = is_error_sound(why) ? message_of(why->message) : std::string{};
  return bridge.context_.services.fail_record(bridge, slice_id, offset,
                                              text.empty() ? "the plugin gave no reason" : text);
}

void HostBridge::begin_emission(const sluice_batch& batch, Emission& into) {
  into.clear();
  batch_ = &batch;
  emission_ = &into;
}

sluice_status HostBridge::emit(const sluice_host* host, const sluice_out* outs,
                               std::uint32_t count) noexcept {
  return of(host).take(outs, count);
}

sluice_status HostBridge::take(const sluice_out* outs, std::uint32_t count) {
  if (count == 0) return SLUICE_OK;
  if (emission_ == nullptr || outs == nullptr || outs->size < sizeof(sluice_out)) {
    return SLUICE_FAIL;
  }
  const std::size_t before = emission_->records.size();
  std::uint32_t last_source = emission_->sources.empty() ? 0 : emission_->sources.back();
  const char* at = reinterpret_cast<const char*>(outs);
  for (std::uint32_t i = 0; i < count; ++i, at += outs->size) {
    const auto& out = *reinterpret_cast<const sluice_out*>(at);
    if (out.source_index < last_source || out.source_index >= batch_->record_count) {
      emission_->records.resize(before);
      emission_->sources.resize(before);
      return SLUICE_FAIL;
    }
    last_source = out.source_index;
    const sluice_record& source = *sluice_record_at(batch_, out.source_index);
    emission_->records.push_back({out.key, out.value, source.offset, out.timestamp_ms,
                                  source.topic_index, source.partition, out.flags, out.header_count,
                                  out.headers});
    emission_->sources.push_back(out.source_index);
  }
  return SLUICE_OK;
}

void HostBridge::log(const sluice_host* host, sluice_log_level level, sluice_bytes text) noexcept {
  if (text.data == nullptr) return;
  HostBridge& bridge = of(host);
  bridge.context_.log.write(level_of(level), bridge.alias_,
                            {static_cast<const char*>(text.data), text.size});
}

const sluice_slice* HostBridge::slice(const sluice_host* host, std::uint64_t slice_id) noexcept {
  return of(host).context_.services.slice(slice_id);
}

sluice_bytes HostBridge::topic(const sluice_host* host, std::uint32_t topic_index) noexcept {
  return of(host).context_.services.topic(topic_index);
}

void HostBridge::request_flush(const sluice_host* host) noexcept {
  of(host).context_.flush_requested.store(true, std::memory_order_relaxed);
}

void HostBridge::keep_alive(const sluice_host* host) noexcept {
  of(host).context_.pulse.keep_alive();
}

const void* HostBridge::get_extension(const sluice_host*, const char*) noexcept {
  return nullptr;
}

}  // namespace sluice::worker
