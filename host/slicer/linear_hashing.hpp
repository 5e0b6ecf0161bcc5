// Linear hashing as arithmetic (slicer.md A3): which worker has a value, so that one worker more
// takes a part of one other's and disturbs nobody else. Pure; what a partition's value is, and who
// stands in for a worker that is down, is the business of linear.cpp.
#pragma once

#include <cstdint>

namespace sluice::slicer {

/// The worker of `value`, 0 .. workers - 1. `first` is how many workers there were when the hashing
/// began. With as many, worker = value mod first; each one more splits the next one in turn, and
/// each one fewer than `first` joins the last to the one without its highest bit.
/// From n to n + 1 workers values go from one worker to worker n, and no others.
/// Requires: first > 0 and workers > 0.
std::uint32_t linear_worker(std::uint32_t value, std::uint32_t first, std::uint32_t workers);

}  // namespace sluice::slicer
