#include "host/slicer/options.hpp"

#include <string>

namespace sluice::slicer {
namespace {

Error refused(const char* key, const std::string& why) {
  return {ErrorCode::Configuration, std::string{"slicer cannot run: "} + key + ": " + why};
}

}  // namespace

Result<> validate(const SlicerOptions& options) {
  if (options.slots == 0) {
    return refused("tasks.max", "must be at least 1");
  }
  if (options.standby > kSlotsMax || options.slots > kSlotsMax) {
    return refused("tasks.max and worker.standby", "must be at most " + std::to_string(kSlotsMax));
  }
  if (options.slice_records_max < 1) return refused("slice.max.records", "must be at least 1");
  if (options.slice_bytes_max < 1) return refused("slice.max.bytes", "must be at least 1");
  if (options.attempts_max < 1) return refused("slice.attempts.max", "must be at least 1");
  if (options.isolate_max < 1) return refused("slice.isolate.max", "must be at least 1");
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
  if (options.restarts_max < -1) return refused("restart.max", "must be -1 or more");
  if (options.next_slice_id < 1) return refused("next_slice_id", "must be at least 1");
  return {};
}

}  // namespace sluice::slicer
