// The one file that the author of a sink reads. A sink takes batches of records and makes them
// durable somewhere:
//
//   class Lines final : public sluice::Sink {
//    public:
//     static auto schema() { return sluice::Schema<Settings>{}.field(...)...; }      (optional)
//     explicit Lines(const Settings&);      connect; the destructor disconnects
//     void put(const sluice::Batch&) override;      take the records
//     void flush() override;                        everything put is durable when this returns
//   };
//   SLUICE_SINK(Lines, "lines", "1.0.0")
//
// Errors are exceptions (error.hpp), one bad record is batch.fail(record, why). After
// RetriableError from put the same batch comes again, so nothing of it may be kept; from flush, the
// same flush. After any other exception rollback() is called, or the object is destroyed and made
// anew, and the records put since the last flush come again: what was buffered must go with the
// object. Delivery is at least once: the same record may come twice, in a new process too. Optional
// beside these: rollback, open, close (plugin.hpp), and static summary(), aliases(),
// capabilities(), and validate(const Settings&, sluice::Problems&) for rules that span keys.
#pragma once

#include <sluice/module.hpp>

namespace sluice {

class Sink : public Plugin {
 public:
  Sink() = default;

  virtual void put(const Batch& batch) = 0;

 protected:
  explicit Sink(const Start& start) : Plugin{start} {}
};

namespace detail {
struct PutStage {
  static constexpr sluice_kind kKind = SLUICE_KIND_SINK;
  void run(Sink& sink, const sluice_batch& batch, Host host) { sink.put(Batch{&batch, host}); }
};
}  // namespace detail

/// For SLUICE_MODULE: the descriptor of a sink.
template <std::derived_from<Sink> T>
const sluice_descriptor* sink(const char* name, const char* version) {
  static const detail::Descriptor<T, detail::PutStage> descriptor{name, version};
  return descriptor.raw();
}

}  // namespace sluice

/// One sink in one file, at namespace scope.
#define SLUICE_SINK(Class, name, version) SLUICE_MODULE(::sluice::sink<Class>(name, version))
