// What sinks and processors have in common. Include <sluice/sink.hpp> or <sluice/processor.hpp>.
//
// The constructor connects, the destructor disconnects; between them the host calls the virtual
// functions below, all from one thread, never two at a time. A hook that is not overridden is not
// offered to the host at all. Constructors, shortest first:
//   MyPlugin(), MyPlugin(const Settings&), MyPlugin(const Settings&, const sluice::Start&)
// The last hands its Start on to the base to have log() and the others inside the constructor.
#pragma once

#include <sluice/batch.hpp>
#include <sluice/schema.hpp>

namespace sluice {

namespace detail {
template <typename T, typename Stage>
class Instance;
}

/// What a constructor may ask for beside its settings.
struct Start {
  Host host;
  Bytes job;
  std::uint32_t worker_slot = 0;  ///< the worker's number in its job; a respawn has the same one
};

/// Promises, which the conformance tool tests. A plugin class has them as
///   static constexpr sluice::Capabilities capabilities() { return sluice::Capability::Idempotent;
///   }
using Capabilities = std::uint64_t;
struct Capability {
  static constexpr Capabilities StableSlices = SLUICE_CAP_STABLE_SLICES;
  static constexpr Capabilities Transaction = SLUICE_CAP_TRANSACTION;
  static constexpr Capabilities Idempotent = SLUICE_CAP_IDEMPOTENT;
  static constexpr Capabilities KeyedState = SLUICE_CAP_KEYED_STATE;
};

/// Another name of the plugin, with settings that it presets. A plugin class has them as
///   static std::vector<sluice::Alias> aliases() { return {{"OldName", {{"format", "raw"}}}}; }
struct Alias {
  const char* name;
  std::vector<sluice_preset> presets{};
};

class Plugin {
 public:
  Plugin() = default;
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  /// Everything put since the last flush is durable when this returns. Not overridden: it was so
  /// when put returned.
  virtual void flush() {}
  /// Forget everything put since the last flush. Not overridden: the object is made anew instead.
  virtual void rollback() {}
  /// Partitions granted to this worker, and taken from it.
  virtual void open(std::span<const Partition> /*partitions*/, Reason /*why*/) {}
  virtual void close(std::span<const Partition> /*partitions*/, Reason /*why*/) {}

 protected:
  explicit Plugin(const Start& start) : host_{start.host} {}

  const Host& host() const { return host_; }
  Log log() const { return host_.log(); }
  Slice slice(std::uint64_t slice_id) const { return host_.slice(slice_id); }
  Bytes topic(std::uint32_t topic_index) const { return host_.topic(topic_index); }
  /// As batch.fail, for a record of an earlier put: until flush() returns.
  void fail_record(std::uint64_t slice_id, std::int64_t offset, std::string_view why,
                   std::int32_t code = 0) const {
    host_.fail_record(slice_id, offset, why, code);
  }
  /// My buffer is full: end this flush group soon. From any thread.
  void request_flush() const { host_.request_flush(); }
  /// The running call is slow but alive: its time starts anew. From any thread.
  void keep_alive() const { host_.keep_alive(); }

 private:
  template <typename T, typename Stage>
  friend class detail::Instance;
  Host host_;
};

}  // namespace sluice
