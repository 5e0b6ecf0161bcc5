#include "host/slicer/options.hpp"

#include <string>

namespace sluice::slicer {
namespace {

Error refused(const char* key, const std::string& why) {
  return {ErrorCode::Configuration, std::string{"slicer cannot run: "} + key + ": " + why};
}

Result<> validate_built(const SlicerOptions& options) {
  if (options.assignment == Assignment::Linear) {
    return refused("slicer.assignment", "linear is not supported yet; use sticky");
  }
  if (options.assignment == Assignment::Any) {
    return refused("slicer.assignment", "any is not supported yet; use sticky");
  }
  if (options.on_failure == OnFailure::Isolate) {
    return refused("slice.on.failure", "isolate is not supported yet; use halt or park");
  }
  return {};
}

}  // namespace

Result<> validate(const SlicerOptions& options) {
  SLUICE_TRY(validate_built(options));
  if (options.slots == 0) {
    return refused("tasks.max", "must be at least 1");
  }
  if (options.slice_records_max < 1) return refused("slice.max.records", "must be at least 1");
  if (options.slice_bytes_max < 1) return refused("slice.max.bytes", "must be at least 1");
  if (options.attempts_max < 1) return refused("slice.attempts.max", "must be at least 1");
  if (options.credit_slices < 1 || options.credit_slices > kCreditSlicesMax) {
    return refused("worker.credit.slices",
                   "must be 1 to " + std::to_string(kCreditSlicesMax) +
                       " (a ring holds 1024 commands, and revokes need room beside the slices)");
  }
  if (options.credit_records < options.slice_records_max) {
    return refused("worker.credit.records", "must be at least slice.max.records");
  }
  if (options.slices_per_second_max < 1)
    return refused("slices.per.second.max", "must be at least 1");
  if (options.next_slice_id < 1) return refused("next_slice_id", "must be at least 1");
  return {};
}

}  // namespace sluice::slicer
