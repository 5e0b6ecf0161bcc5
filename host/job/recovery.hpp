// What `sluice job recover` asks for and gets (slicer.md S6), and which of a job's recoverable
// slices a request means: a pure choice over rows.
//
// Not here: running them (the slicer's recovery.cpp), and which rows are recoverable at all (the
// state store).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/state/rows.hpp"

namespace sluice::job {

struct RecoverRequest {
  enum class Slices { Parked, Pending, All };
  std::optional<std::uint64_t> execution;  ///< only what this one left
  Slices slices = Slices::Parked;          ///< Pending: left unfinished when a reset passed them
  bool dry_run = false;
};

/// What recover would run, or has taken on; no slices: there is nothing to do.
struct RecoverAnswer {
  std::vector<state::SliceRow> slices;
  std::uint64_t records_max = 0;  ///< offsets in them
};

/// Of `rows` those that the request means, of topics that the job still reads.
RecoverAnswer select_slices(const RecoverRequest& request, std::vector<state::SliceRow> rows,
                            const std::vector<std::string>& topics);

}  // namespace sluice::job
