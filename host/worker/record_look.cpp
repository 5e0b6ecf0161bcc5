// The host asks which record stands at an offset, to learn whether the log is the one that it knows
// (slicer.md F5). The answer is the record's fingerprint, or that there is none. The records around
// it stay at hand: the slice that comes next nearly always begins one after it.
#include "host/worker/task_loop.hpp"

namespace sluice::worker {

TaskLoop::Step TaskLoop::look_at_record(Assignment& assignment) {
  PartitionFeed& feed = assignment.feed;
  const std::int64_t now_us = time_.now_us();
  if (!ensure_open(assignment, now_us)) return Step::Starved;
  SliceWork& question = *feed.slices().front();
  switch (feed.supply(parameters_.batch, now_us, runner_.retired())) {
    case Supply::Starved:
      return Step::Starved;
    case Supply::Batch:
      question.last = fingerprint_of(feed.batch().front());
      feed.consume_batch();
      break;
    default:  // a hole, or not in the log (any more): there is no such record
      break;
  }
  assignment.used = ++used_;
  feed.pop_slice();
  outbox_.done(question, 1);
  intake_.free(&question);
  return Step::Progress;
}

}  // namespace sluice::worker
