// What the host does for a plugin, as a value that may be copied. Plugin (plugin.hpp) offers the
// everyday part of it as protected functions; this is the whole. Threads as in abi.h: log,
// request_flush and keep_alive from any thread, the rest on the task thread.
#pragma once

#include <sluice/error.hpp>
#include <sluice/log.hpp>
#include <sluice/slice.hpp>

#include <stdexcept>
#include <string>

namespace sluice {

class Host {
 public:
  Host() = default;
  explicit Host(const sluice_host* raw) : raw_{raw} {}

  Log log() const { return Log{raw_}; }

  /// Requires: a slice of the running flush group.
  Slice slice(std::uint64_t slice_id) const {
    const sluice_slice* slice = attached().slice(raw_, slice_id);
    if (slice == nullptr) {
      throw std::logic_error{"slice " + std::to_string(slice_id) + " is not of this flush group"};
    }
    return Slice{slice};
  }

  /// Null for an unknown index.
  Bytes topic(std::uint32_t topic_index) const {
    return Bytes{attached().topic(raw_, topic_index)};
  }

  /// This record is bad, the others are fine. Until flush() of its group returns.
  void fail_record(std::uint64_t slice_id, std::int64_t offset, std::string_view why,
                   std::int32_t code = 0) const {
    const sluice_error error{
        sizeof(sluice_error), code, {why.data(), why.size()}, {nullptr, 0}, -1};
    if (attached().fail_record(raw_, slice_id, offset, &error) != SLUICE_OK) {
      throw std::logic_error{"record " + std::to_string(offset) + " of slice " +
                             std::to_string(slice_id) + " is not of this flush group"};
    }
  }

  void request_flush() const { attached().request_flush(raw_); }
  void keep_alive() const { attached().keep_alive(raw_); }

  /// The extension's struct, as the header of the extension describes it; null if there is none.
  const void* extension(const char* id) const { return attached().get_extension(raw_, id); }

  const sluice_host* raw() const { return raw_; }

 private:
  const sluice_host& attached() const {
    if (raw_ == nullptr) {
      throw std::logic_error{
          "the host is not there yet: take a const sluice::Start& in the constructor"};
    }
    return *raw_;
  }

  const sluice_host* raw_ = nullptr;
};

}  // namespace sluice
