// Isolate for stable slices (slicer.md F3.4): their sink must never see a part of one as a slice,
// so the parts are probes: plugins are told of the whole slice, get the part's records, and forget
// them; nothing is flushed, and nothing is done afterwards. While a search goes on the parts stand
// in the list in the slice's place; those that survive and the culprits that are set aside stay
// there, so that the frontier waits. When all of them have answered, the slice itself comes back,
// without its culprits. Which ones that are is durable before it runs: a redelivery, also by the
// next host, leaves out the same (C5).
//
// Its row says Isolating meanwhile, and its parts have none: a host that comes back knows whom it
// has set aside, runs the slice without them, and begins the search anew if that fails.
//
// A probe that survives proves little: what a plugin does in flush it does not do. So nothing is
// concluded from one about its neighbour, and where all survive the slice halts when it fails
// again.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "host/base/assert.hpp"
#include "host/slicer/core.hpp"

namespace sluice::slicer {

bool Core::is_searched(const Partition& partition) {
  return partition.isolation != nullptr && partition.isolation->whole != nullptr;
}

/// Behind the one that is searched: where that has a record without a verdict, it shows whether the
/// plugin takes anything at all (F3.2), but its own turn to be output has not come.
bool Core::is_witness(const Partition& partition, const Slice& slice) {
  return slice.stable && is_searched(partition) && slice.start > partition.isolation->whole->start;
}

bool Core::runs_as_probe(const Partition& partition, const Slice& slice) {
  if (slice.dead_letter || slice.compare || slice.recovered) return false;
  return slice.probe || is_witness(partition, slice);
}

ipc::SliceTerms Core::terms_of(const Partition& partition, const Slice& slice) {
  const Slice& whole = slice.probe ? *partition.isolation->whole : slice;
  ipc::SliceTerms terms{whole.start, whole.end, {}};
  if (whole.excluded != nullptr) terms.excluded = *whole.excluded;
  return terms;
}

/// Requires: it is waiting, and has failed in a way that a record may be to blame for.
void Core::search(Partition& partition, Slice& slice, std::int64_t record, Milliseconds now) {
  // Its own turn comes.
  if (is_witness(partition, slice)) {
    return retry_later(partition, ++slice.environment_failures, now);
  }
  end_search(partition);  // of one behind it, which the same death may have begun
  if (slice.searched) return retry_searched(partition, slice, now);
  split(partition, slice, record, now);
}

/// Nobody knows a record that does it; the death may have been another's. As without isolation.
void Core::retry_searched(Partition& partition, Slice& slice, Milliseconds now) {
  if (slice.attempt < options_.attempts_max) {
    slice.state = state::SliceState::Retrying;
    changes_.slice_changed(slice);
    return retry_later(partition, slice.attempt, now);
  }
  slice.failed_at = kNoOffset;
  state::SliceError error = *slice.error;
  error.message +=
      " (slice.on.failure = isolate: the sink names its output after the slice, and each of its "
      "records survives a probe run, which is never flushed)";
  halt(partition, &slice, std::move(error), now);
}

/// The whole slice leaves the list; its parts are there already.
void Core::begin_search(Partition& partition, Slice& whole) {
  unlink(partition.slices, &whole);
  whole.state = state::SliceState::Isolating;
  partition.isolation->whole = &whole;
  partition.isolation->is_culprit_found = false;
  changes_.slice_changed(whole);
}

/// Its plugins took all of it. Requires: its flight is over and was a live probe.
void Core::survived(Partition& partition, Slice& slice, const ipc::Report& report,
                    Milliseconds now) {
  if (report.records > 0) ++proofs_;
  if (!slice.probe) {
    give_back(partition, &slice);
    if (report.records == 0) stop_putting_off(partition, now);  // holes say nothing
    return;
  }
  clear_suspect(partition, slice);
  slice.state = state::SliceState::Completed;
  end_search_when_over(partition);
}

bool Core::is_excluded_full(const Partition& partition) {
  const auto& excluded = partition.isolation->whole->excluded;
  return excluded != nullptr && excluded->size() >= ipc::kExcludedMax;
}

/// A culprit of the searched slice is set aside, on record.
void Core::exclude(Partition& partition, Slice& culprit, state::SliceState state,
                   state::Cause cause, Milliseconds now) {
  Slice& whole = *partition.isolation->whole;
  add_gap(partition, culprit, cause, now);
  if (whole.excluded == nullptr) whole.excluded = std::make_unique<std::vector<std::int64_t>>();
  auto& excluded = *whole.excluded;
  excluded.insert(std::lower_bound(excluded.begin(), excluded.end(), culprit.start), culprit.start);
  changes_.slice_changed(whole);
  changed(partition);
  clear_suspect(partition, culprit);
  culprit.state = state;
  if (partition.slices.waiting == &culprit) partition.slices.waiting = first_open(culprit.next);
  end_search_when_over(partition);
}

void Core::end_search_when_over(Partition& partition) {
  for (const Slice* part = partition.slices.head; part != nullptr; part = part->next) {
    if (part->probe && !state::is_settled(part->state)) return;
  }
  partition.isolation->whole->searched = !partition.isolation->is_culprit_found;
  end_search(partition);
}

/// The slice stands in its parts' place again, over or not. Requires: no part is in flight.
void Core::end_search(Partition& partition) {
  if (!is_searched(partition)) return;
  Slice& whole = *std::exchange(partition.isolation->whole, nullptr);
  Slice* before = nullptr;
  for (Slice* slice = partition.slices.head; slice != nullptr;) {
    Slice* const next = slice->next;
    if (slice->probe) {
      SLUICE_ASSERT(slice->state != state::SliceState::Dispatched, slice->id, slice->start);
      drop(partition, *slice);
    } else if (slice->start < whole.start) {
      before = slice;
    }
    slice = next;
  }
  whole.state = state::SliceState::Ready;
  whole.proofs_before = kNoProofs;
  insert_slice(partition, before, whole);
  make_stable(partition, whole);
}

/// What is left of a slice whose beginning is gone leaves out whom it left out.
void Core::inherit_excluded(Slice& rest, const std::vector<std::int64_t>& excluded) {
  for (const std::int64_t offset : excluded) {
    if (offset < rest.start || offset >= rest.end) continue;
    if (rest.excluded == nullptr) rest.excluded = std::make_unique<std::vector<std::int64_t>>();
    if (rest.excluded->size() < ipc::kExcludedMax) rest.excluded->push_back(offset);
  }
}

}  // namespace sluice::slicer
