// The one file that the author of a processor reads. A processor maps each batch to the records
// that the next stage gets:
//
//   class Shout final : public sluice::Processor {
//    public:
//     void process(const sluice::Batch& batch, sluice::Output& out) override {
//       for (const auto& record : batch) {
//         if (record.is_tombstone()) { out.pass(record); continue; }         as it is, not copied
//         out.emit(record).value(upper(record.value()));                     changed
//       }                                                                    nothing: filtered
//     }
//   };
//   SLUICE_PROCESSOR(Shout, "shout", "1.0.0")
//
// What is emitted keeps its source's topic, partition and offset. Settings, errors and the optional
// hooks are those of a sink (sink.hpp); an exception from process emits nothing of its batch.
#pragma once

#include <sluice/module.hpp>

#include <memory_resource>

namespace sluice {

namespace detail {
class ProcessStage;
}

/// What process emits, in the order of the records it was made of. Its memory is reused by the next
/// process of the same plugin, which is as long as the host may need it.
class Output {
 public:
  /// One emitted record: its source's, until told otherwise. value() and key() copy what they get;
  /// the borrow_ forms do not: for bytes of the batch, or of the plugin, that outlive process.
  class Emitted {
   public:
    Emitted& key(std::string_view text) { return borrow_key(output_->keep(text)); }
    Emitted& value(std::string_view text) { return borrow_value(output_->keep(text)); }
    Emitted& null_key() { return borrow_key({}); }
    Emitted& null_value() { return borrow_value({}); }
    Emitted& borrow_key(Bytes bytes) {
      raw().key = bytes.raw();
      return *this;
    }
    Emitted& borrow_value(Bytes bytes) {
      raw().value = bytes.raw();
      return *this;
    }
    Emitted& timestamp_ms(std::int64_t timestamp_ms) {
      raw().timestamp_ms = timestamp_ms;
      return *this;
    }
    /// After those it has. Copies both.
    Emitted& header(std::string_view name, Bytes value) {
      output_->append_header(raw(), {output_->keep(name).raw(), output_->keep(value).raw()});
      return *this;
    }
    Emitted& without_headers() {
      raw().header_count = 0;
      return *this;
    }

   private:
    friend class Output;
    Emitted(Output* output, std::size_t index) : output_{output}, index_{index} {}
    sluice_out& raw() { return output_->outs_[index_]; }

    Output* output_;
    std::size_t index_;
  };

  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// The record as it is. Nothing is copied but its 64-byte view.
  void pass(const Record& record) { emit(record); }

  /// A record made of `source`. May be called several times for one source.
  Emitted emit(const Record& source) {
    const sluice_record& from = source.raw();
    outs_.push_back({sizeof(sluice_out), index_of(from), from.key, from.value, from.timestamp_ms,
                     from.flags, from.header_count, from.headers});
    return {this, outs_.size() - 1};
  }

  std::size_t size() const { return outs_.size(); }

 private:
  friend class detail::ProcessStage;

  void begin(const sluice_batch& batch) {
    outs_.clear();
    arena_.release();
    batch_ = &batch;
  }

  void end(const sluice_host* host) {
    if (!outs_.empty() &&
        host->emit(host, outs_.data(), static_cast<std::uint32_t>(outs_.size())) != SLUICE_OK) {
      throw std::logic_error{"emitted records are not in the order of their sources"};
    }
  }

  std::uint32_t index_of(const sluice_record& record) const {
    const auto distance =
        reinterpret_cast<const char*>(&record) - reinterpret_cast<const char*>(batch_->records);
    return static_cast<std::uint32_t>(distance) / batch_->record_size;
  }

  Bytes keep(Bytes bytes) {
    if (bytes.is_null()) {
      return {};
    }
    auto* copy = static_cast<char*>(arena_.allocate(bytes.size() + 1, 1));  // never null
    bytes.copy(copy, bytes.size());
    return Bytes{std::string_view{copy, bytes.size()}};
  }

  void append_header(sluice_out& out, const sluice_header& added) {
    auto* headers = static_cast<sluice_header*>(
        arena_.allocate((out.header_count + 1) * sizeof(sluice_header), alignof(sluice_header)));
    std::uninitialized_copy_n(out.headers, out.header_count, headers);
    headers[out.header_count++] = added;
    out.headers = headers;
  }

  std::vector<sluice_out> outs_;
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::monotonic_buffer_resource arena_{&pool_};
  const sluice_batch* batch_ = nullptr;
};

class Processor : public Plugin {
 public:
  Processor() = default;

  virtual void process(const Batch& batch, Output& out) = 0;

 protected:
  explicit Processor(const Start& start) : Plugin{start} {}
};

namespace detail {
class ProcessStage {
 public:
  static constexpr sluice_kind kKind = SLUICE_KIND_PROCESSOR;
  void run(Processor& processor, const sluice_batch& batch, Host host) {
    output_.begin(batch);
    processor.process(Batch{&batch, host}, output_);
    output_.end(host.raw());
  }

 private:
  Output output_;
};
}  // namespace detail

/// For SLUICE_MODULE: the descriptor of a processor.
template <std::derived_from<Processor> T>
const sluice_descriptor* processor(const char* name, const char* version) {
  static const detail::Descriptor<T, detail::ProcessStage> descriptor{name, version};
  return descriptor.raw();
}

}  // namespace sluice

/// One processor in one file, at namespace scope.
#define SLUICE_PROCESSOR(Class, name, version) \
  SLUICE_MODULE(::sluice::processor<Class>(name, version))
