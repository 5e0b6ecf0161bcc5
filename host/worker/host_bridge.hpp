// What a plugin instance sees as its host: the sluice_host given to create(), one per instance, so
// that every call is known to come from that plugin. It translates; who answers is behind
// HostServices (the task loop). Also keeps what the plugin said last with set_error, and collects
// what a processor emits.
//
// log, request_flush and keep_alive may come from any thread; the rest from the task thread.
#pragma once

#include <sluice/abi.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/worker/log_pipe.hpp"
#include "ipc/pulse.hpp"

namespace sluice::worker {

class HostBridge;

/// What the bridge cannot answer itself. Task thread only.
class HostServices {
 public:
  virtual ~HostServices() = default;
  /// SLUICE_OK, or SLUICE_FAIL if the flush group holds no such record.
  virtual sluice_status fail_record(const HostBridge& from, std::uint64_t slice_id,
                                    std::int64_t offset, std::string_view why) = 0;
  /// Null for a slice that is not of the flush group. Valid until the next call.
  virtual const sluice_slice* slice(std::uint64_t slice_id) = 0;
  virtual sluice_bytes topic(std::uint32_t topic_index) = 0;
};

/// What process() emitted for one batch: records for the next stage, and for each the index of the
/// input record it was made of.
struct Emission {
  std::vector<sluice_record> records;
  std::vector<std::uint32_t> sources;

  void clear() {
    records.clear();
    sources.clear();
  }
};

/// The last set_error of a call.
struct SaidError {
  bool was_set = false;
  std::int32_t code = 0;
  std::string message;
  std::string key;
  std::int64_t retry_after_ms = -1;
};

/// Shared by the bridges of one worker.
struct BridgeContext {
  HostServices& services;
  ipc::PulseWriter& pulse;
  LogPipe& log;
  std::atomic<bool> flush_requested{false};
};

class HostBridge {
 public:
  HostBridge(BridgeContext& context, std::size_t stage_index, std::string alias);
  HostBridge(const HostBridge&) = delete;
  HostBridge& operator=(const HostBridge&) = delete;

  const sluice_host* host() const { return &host_; }
  std::size_t stage_index() const { return stage_index_; }
  const std::string& alias() const { return alias_; }
  /// Which call is running, for the texts of failed records.
  const char* call() const { return call_; }

  /// Before every plugin call: tells the pulse whose code comes, forgets what was said before.
  void begin_call(const char* name);
  const SaidError& said() const { return said_; }

  /// Around process(): emit() is taken for this batch only.
  void begin_emission(const sluice_batch& batch, Emission& into);
  void end_emission() { emission_ = nullptr; }

 private:
  static HostBridge& of(const sluice_host* host);
  static void set_error(const sluice_host*, const sluice_error*) noexcept;
  static sluice_status fail_record(const sluice_host*, std::uint64_t, std::int64_t,
                                   const sluice_error*) noexcept;
  static sluice_status emit(const sluice_host*, const sluice_out*, std::uint32_t) noexcept;
  static void log(const sluice_host*, sluice_log_level, sluice_bytes) noexcept;
  static const sluice_slice* slice(const sluice_host*, std::uint64_t) noexcept;
  static sluice_bytes topic(const sluice_host*, std::uint32_t) noexcept;
  static void request_flush(const sluice_host*) noexcept;
  static void keep_alive(const sluice_host*) noexcept;
  static const void* get_extension(const sluice_host*, const char*) noexcept;

  sluice_status take(const sluice_out* outs, std::uint32_t count);

  BridgeContext& context_;
  std::size_t stage_index_;
  std::string alias_;
  sluice_host host_{};
  const char* call_ = "create";
  SaidError said_;
  const sluice_batch* batch_ = nullptr;
  Emission* emission_ = nullptr;
};

}  // namespace sluice::worker
