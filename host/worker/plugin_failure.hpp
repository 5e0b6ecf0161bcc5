// A plugin call that did not answer OK, as the worker carries it from the chain to the report: what
// to do about it (status), how the slicer must judge it (failure_class, slicer.md F2), whom to
// name, and why. A plain value.
#pragma once

#include <sluice/abi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "ipc/failure_text.hpp"
#include "ipc/slice_report.hpp"

namespace sluice::worker {

struct PluginFailure {
  sluice_status status = SLUICE_FAIL;
  ipc::FailureClass failure_class = ipc::FailureClass::PluginFail;
  std::size_t stage_index = 0;  ///< in the chain
  ipc::FailureText text;        ///< plugin: its alias; stage: start, open, process, put, flush
  std::int64_t retry_after_ms = -1;
};

}  // namespace sluice::worker
