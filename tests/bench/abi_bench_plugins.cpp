// The plugins of abi_bench. Sinks that add up sizes, once through the C++ layer's iterator, which
// stores the record's index for the host, once through the C struct without that store; and a
// processor that passes every record on.
#include <sluice/sluice.hpp>

namespace {

class Sum : public sluice::Sink {
 public:
  ~Sum() override { log().debug(std::to_string(bytes_)); }  // so that the sum is needed

 protected:
  std::uint64_t bytes_ = 0;
};

class SumByIterator final : public Sum {
 public:
  void put(const sluice::Batch& batch) override {
    for (const auto& record : batch) {
      bytes_ += record.key().size() + record.value().size();
    }
  }
};

class SumByStruct final : public Sum {
 public:
  void put(const sluice::Batch& batch) override {
    const sluice_batch& raw = batch.raw();
    for (std::uint32_t index = 0; index < raw.record_count; ++index) {
      const sluice_record* record = sluice_record_at(&raw, index);
      bytes_ += record->key.size + record->value.size;
    }
  }
};

class PassThrough final : public sluice::Processor {
 public:
  void process(const sluice::Batch& batch, sluice::Output& out) override {
    for (const auto& record : batch) {
      out.pass(record);
    }
  }
};

}  // namespace

SLUICE_MODULE(sluice::processor<PassThrough>("pass-through", "1.0.0"),
              sluice::sink<SumByIterator>("sum-by-iterator", "1.0.0"),
              sluice::sink<SumByStruct>("sum-by-struct", "1.0.0"))
