#include "sim/worker_process.hpp"

#include <signal.h>

#include <algorithm>

#include "ipc/failure_text.hpp"
#include "sim/world.hpp"

namespace sluice::sim {

WorkerProcess::WorkerProcess(World& world, std::uint32_t slot, std::uint64_t incarnation,
                             std::uint64_t seed)
    : world_{&world}, slot_{slot}, incarnation_{incarnation}, random_{seed} {
  pulse_.phase = ipc::Phase::Start;
}

void WorkerProcess::schedule(std::int64_t delay_us) {
  if (scheduled_ || gone() || hung_) return;
  scheduled_ = true;
  world_->after(delay_us, incarnation_, [this] {
    scheduled_ = false;
    turn();
  });
}

void WorkerProcess::come_up() {
  up_ = true;
  ipc::Report ready;
  ready.kind = static_cast<std::uint16_t>(ipc::ReportKind::Ready);
  push(ready);
  schedule(0);
}

void WorkerProcess::send(const ipc::Command& command, ipc::SliceTerms terms) {
  if ((command.flags & (ipc::kProbe | ipc::kExclude)) != 0) {
    terms_[command.slice_id] = std::move(terms);
  }
  ring_.push_back(command);
  schedule(20);
}

std::optional<std::pair<ipc::Report, std::string>> WorkerProcess::take_report() {
  if (reports_.empty()) return std::nullopt;
  auto report = std::move(reports_.front());
  reports_.pop_front();
  return report;
}

void WorkerProcess::push(ipc::Report report, std::string text) {
  reports_.emplace_back(report, std::move(text));
  world_->doorbell(*this);
}

void WorkerProcess::enter(ipc::Phase phase, std::uint64_t slice_id, std::int64_t offset) {
  pulse_.phase = phase;
  pulse_.slice_id = slice_id;
  pulse_.offset = offset;
  pulse_.position = 0;
  ++pulse_.phase_since_ns;
}

void WorkerProcess::turn() {
  if (gone() || hung_ || !up_) return;
  if (frozen_until_us_ > world_->now_us()) return;
  ++pulse_.loops;
  read_ring();
  if (current_) return batch();
  if (start_next()) return schedule(5);
  if (!group_.empty()) return flush();
  enter(ipc::Phase::Idle, 0, 0);
  if (stopping_) die({supervisor::ExitStatus::Kind::Exited, 0});
}

bool WorkerProcess::must_return(const ipc::Command& command) const {
  const auto returned = returned_.find(command.partition);
  return stopping_ || (returned != returned_.end() && command.fence <= returned->second);
}

void WorkerProcess::read_ring() {
  for (; !ring_.empty(); ring_.pop_front()) {
    const ipc::Command command = ring_.front();
    switch (static_cast<ipc::CommandKind>(command.kind)) {
      case ipc::CommandKind::Slice:
        queue_.push_back(command);
        break;
      case ipc::CommandKind::Revoke:
        return_lane(command.partition, command.fence);
        break;
      case ipc::CommandKind::Stop:
        stopping_ = true;
        break;
      default:
        break;
    }
  }
  // What waits goes back at once, what runs at the next batch boundary.
  std::erase_if(queue_, [this](const ipc::Command& command) {
    if (!must_return(command)) return false;
    report(ipc::ReportKind::Released, {command, command.start}, command.start);
    return true;
  });
}

void WorkerProcess::return_lane(std::int32_t partition, std::uint32_t fence) {
  std::uint32_t& returned = returned_[partition];
  returned = std::max(returned, fence);
}

/// Takes the next slice, unless the group must be flushed before it.
bool WorkerProcess::start_next() {
  if (queue_.empty()) return false;
  std::int64_t put = static_cast<std::int64_t>(volatile_.size());
  const bool alone = (queue_.front().flags & ipc::kAlone) != 0;
  const bool alone_in_group =
      !group_.empty() && (group_.back().slice.command.flags & ipc::kAlone) != 0;
  const bool full = put >= world_->scenario().flush_records;
  if (!group_.empty() && (alone || alone_in_group || full || singly_ > 0)) return false;
  std::size_t taken = 0;
  if (world_->sabotaged(Sabotage::ReverseLane) && singly_ == 0) taken = queue_.size() - 1;
  current_ = Running{queue_[taken], queue_[taken].start};
  queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(taken));
  enter(ipc::Phase::Fetch, current_->command.slice_id, current_->position);
  if (!opened_.contains(current_->command.partition)) {
    opened_[current_->command.partition] = -1;
    ipc::Report opened;
    opened.kind = static_cast<std::uint16_t>(ipc::ReportKind::Opened);
    opened.partition = current_->command.partition;
    opened.next_offset = current_->position;
    push(opened);
  }
  return true;
}

void WorkerProcess::batch() {
  const ipc::Command& command = current_->command;
  const Scenario& scenario = world_->scenario();
  if (must_return(command)) return end_current(current_->position);
  if (world_->broker().away() || world_->broker().absent()) {
    enter(ipc::Phase::Wait, command.slice_id, current_->position);
    return schedule(50 * kMillisecond);
  }
  const Troubles& troubles = world_->troubles();
  if (troubles.short_end_one_in > 0 && random_.once_in(troubles.short_end_one_in)) {
    return end_current(current_->position);
  }
  if (troubles.false_expiry_one_in > 0 && random_.once_in(troubles.false_expiry_one_in)) {
    return expire_current();
  }
  if ((command.flags & ipc::kCompare) != 0) return look_at_record();
  const Fetched fetched = world_->broker().fetch(command.partition, current_->position, command.end,
                                                 scenario.batch_records);
  if (fetched.expired) return expire_current();
  if ((command.flags & ipc::kDeadLetterOnly) != 0) {
    current_->records = 1;
    group_.push_back({*current_, command.end});
    current_.reset();
    return schedule(1'000);
  }
  enter(ipc::Phase::Put, command.slice_id, current_->position);
  const auto records = static_cast<std::int64_t>(fetched.offsets.size());
  put(fetched.offsets);
  if (!current_ || gone() || hung_) return;  // a record had its way
  current_->position = fetched.next;
  see(command.partition);
  const std::int64_t cost_us = 20 + records * scenario.put_us;
  const bool whole_only = (command.flags & ipc::kStable) != 0;
  const bool probe = (command.flags & ipc::kProbe) != 0;
  if (fetched.next >= command.end && probe && !world_->sabotaged(Sabotage::FlushProbe)) {
    return end_probe();
  }
  if (fetched.next >= command.end || (fetched.at_end && !whole_only)) {
    const std::int64_t next = fetched.next;
    group_.push_back({*current_, next});
    if (next < command.end) return_lane(command.partition, command.fence);
    current_.reset();
  } else if (records == 0 && fetched.at_end) {
    return schedule(20 * kMillisecond);  // it waits for what it has been promised
  }
  schedule(cost_us);
}

/// F5: which record is there? Whatever else the process has in hand has nothing to do with it.
void WorkerProcess::look_at_record() {
  Running question = *current_;
  current_.reset();
  const ipc::Command& command = question.command;
  const Broker& broker = world_->broker();
  if (!broker.fetch(command.partition, command.start, command.end, 1).offsets.empty()) {
    question.last = command.start;
    question.last_writing = broker.writing(command.partition, command.start);
  }
  report(ipc::ReportKind::Done, question, command.end);
  schedule(20);
}

void WorkerProcess::put(const std::vector<std::int64_t>& offsets) {
  const std::int32_t partition = current_->command.partition;
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    const std::int64_t offset = offsets[index];
    const RecordAt record{partition, offset};
    const bool excluded = is_excluded(current_->command, offset);
    if (excluded && !world_->sabotaged(Sabotage::PutCulprits)) continue;
    pulse_.position = static_cast<std::uint32_t>(index);
    ++current_->records;
    current_->last = offset;
    current_->last_writing = world_->broker().writing(partition, offset);
    world_->checkers().put(incarnation_, partition);
    const auto bad = world_->scenario().bad.find(record);
    const bool is_bad = bad != world_->scenario().bad.end() && !excluded;
    if (is_bad && !survives(record, bad->second)) return;
    if (world_->sabotaged(Sabotage::SkipRecord) && offset % 50 == 7) continue;
    volatile_.push_back({record, current_->last_writing});
    ++current_->puts;
  }
}

bool WorkerProcess::is_excluded(const ipc::Command& command, std::int64_t offset) const {
  if ((command.flags & (ipc::kProbe | ipc::kExclude)) == 0) return false;
  const auto& excluded = terms_.at(command.slice_id).excluded;
  return std::find(excluded.begin(), excluded.end(), offset) != excluded.end();
}

/// F3.4: put, never flushed, forgotten.
void WorkerProcess::end_probe() {
  const Running probe = *std::exchange(current_, std::nullopt);
  volatile_.resize(volatile_.size() - probe.puts);
  report(ipc::ReportKind::Survived, probe, probe.command.end);
  schedule(20);
}

/// Whether the process and its slice go on after this record.
bool WorkerProcess::survives(const RecordAt& record, Badness badness) {
  switch (badness) {
    case Badness::Crash:
      crash(SIGSEGV);
      return false;
    case Badness::CrashOnce:
      if (!world_->first_time(record, 1)) return true;
      crash(SIGABRT);
      return false;
    case Badness::Hang:
      hung_ = true;
      world_->trace().line("worker", record.partition, current_->command.slice_id,
                           [&] { return "hangs at " + std::to_string(record.offset); });
      return false;
    case Badness::Fail:
      fail_current(ipc::FailureClass::PluginFail);
      return false;
    case Badness::FailTwice:
      if (!world_->first_time(record, 2)) return true;
      fail_current(ipc::FailureClass::PluginFail);
      return false;
    case Badness::NotConnected:
      if (!world_->first_time(record, 2)) return true;
      fail_current(ipc::FailureClass::NotConnected);
      return false;
    case Badness::CrashInFlush:
      return true;
  }
  return true;
}

void WorkerProcess::flush() {
  enter(ipc::Phase::Flush, group_.back().slice.command.slice_id, group_.back().slice.position);
  for (const Put& record : volatile_) {
    const auto bad = world_->scenario().bad.find(record.at);
    if (bad != world_->scenario().bad.end() && bad->second == Badness::CrashInFlush) {
      return crash(SIGSEGV);
    }
  }
  scheduled_ = true;
  world_->after(world_->scenario().flush_us, incarnation_, [this] {
    scheduled_ = false;
    if (!gone() && !hung_) flushed();
  });
}

void WorkerProcess::flushed() {
  if (frozen_until_us_ > world_->now_us()) return;
  if (writes_by_name()) {
    write_by_name(group_.size());
    volatile_.clear();
  }
  for (const Put& record : volatile_) {
    world_->deliver(record.at, record.writing);
    if (world_->sabotaged(Sabotage::DeliverTwice) && record.at.offset == 3) {
      world_->deliver(record.at, record.writing);
    }
  }
  volatile_.clear();
  for (const Finished& finished : std::exchange(group_, {})) {
    const bool done = finished.next == finished.slice.command.end;
    report(done ? ipc::ReportKind::Done : ipc::ReportKind::Released, finished.slice, finished.next);
  }
  if (singly_ > 0) --singly_;
  enter(ipc::Phase::Idle, 0, 0);
  schedule(5);
}

/// The slice stops here (C3): what it has put is flushed, the rest and the lane go back.
/// Of a stable slice nothing is: it goes back as it is.
void WorkerProcess::end_current(std::int64_t next) {
  return_lane(current_->command.partition, current_->command.fence);
  if ((current_->command.flags & ipc::kStable) != 0) {
    Running half = *std::exchange(current_, std::nullopt);
    volatile_.resize(volatile_.size() - half.puts);
    half.records = 0;
    report(ipc::ReportKind::Released, half, half.command.start);
    return schedule(20);
  }
  group_.push_back({*current_, next});
  current_.reset();
  flush();
}

bool WorkerProcess::writes_by_name() const {
  return world_->scenario().slicer.stable_slices;
}

/// The sink's output: a file for each of the group's first `slices`, renamed when it is whole (C5).
void WorkerProcess::write_by_name(std::size_t slices) {
  std::size_t record = 0;
  for (std::size_t i = 0; i < slices; ++i) {
    const auto first = volatile_.begin() + static_cast<std::ptrdiff_t>(record);
    record += group_[i].slice.puts;
    const std::vector<Put> records(first, volatile_.begin() + static_cast<std::ptrdiff_t>(record));
    const bool in_log = std::all_of(records.begin(), records.end(), [this](const Put& put) {
      return world_->broker().writing(put.at.partition, put.at.offset) == put.writing;
    });
    const ipc::Command& command = group_[i].slice.command;
    if (in_log && (command.flags & (ipc::kCompare | ipc::kDeadLetterOnly)) == 0) {
      const auto terms = terms_.find(command.slice_id);
      const bool leaves_out =
          (command.flags & ipc::kExclude) != 0 && !world_->sabotaged(Sabotage::PutCulprits);
      world_->checkers().wrote(command, leaves_out ? terms->second.excluded : Offsets{});
    }
    for (const Put& put : records) world_->deliver(put.at, put.writing);
  }
}

void WorkerProcess::forget(std::size_t puts) {
  if (writes_by_name()) return volatile_.resize(volatile_.size() - puts);
  // A sink without rollback may have written some of it already.
  const std::size_t first = volatile_.size() - puts;
  const std::size_t written = random_.once_in(4) ? random_.below(puts + 1) : 0;
  for (std::size_t i = first; i < first + written; ++i) {
    world_->deliver(volatile_[i].at, volatile_[i].writing);
  }
  volatile_.resize(first);
}

/// D5: the whole group again, one slice a group; only what fails alone is reported FAILED.
void WorkerProcess::fail_current(ipc::FailureClass failure) {
  Running failed = *current_;
  current_.reset();
  forget(volatile_.size());
  schedule(100);
  if (group_.empty()) {
    return_lane(failed.command.partition, failed.command.fence);
    return report(ipc::ReportKind::Failed, failed, failed.position, failure);
  }
  queue_.push_front(failed.command);
  for (auto finished = group_.rbegin(); finished != group_.rend(); ++finished) {
    queue_.push_front(finished->slice.command);
  }
  singly_ = group_.size() + 1;
  group_.clear();
}

void WorkerProcess::expire_current() {
  Running expired = *current_;
  current_.reset();
  if (group_.empty()) {
    forget(expired.puts);
  } else {
    volatile_.resize(volatile_.size() - expired.puts);  // nothing overtakes the group
  }
  return_lane(expired.command.partition, expired.command.fence);
  report(ipc::ReportKind::Expired, expired, expired.position);
  schedule(20);
}

void WorkerProcess::see(std::int32_t partition) {
  const auto opened = opened_.find(partition);
  const std::int64_t ahead = world_->sabotaged(Sabotage::ExceedEnd) ? 100 : 0;
  const std::int64_t end = world_->broker().at(partition).end + ahead;
  if (opened == opened_.end() || opened->second >= end) return;
  const std::uint32_t lost = world_->troubles().lost_hint_one_in;
  if (lost > 0 && random_.once_in(lost)) return;
  opened->second = end;
  ipc::Report seen;
  seen.kind = static_cast<std::uint16_t>(ipc::ReportKind::Seen);
  seen.partition = partition;
  seen.next_offset = end;
  push(seen);
}

void WorkerProcess::grew(std::int32_t partition) {
  if (gone() || hung_ || frozen_until_us_ > world_->now_us() || world_->broker().away()) return;
  if (world_->broker().absent()) return;
  see(partition);
}

void WorkerProcess::report(ipc::ReportKind kind, const Running& slice, std::int64_t next,
                           ipc::FailureClass failure) {
  ipc::Report report;
  report.slice_id = slice.command.slice_id;
  report.fence = slice.command.fence;
  report.kind = static_cast<std::uint16_t>(kind);
  report.topic = slice.command.topic;
  report.partition = slice.command.partition;
  report.next_offset = next;
  const bool done_something = kind == ipc::ReportKind::Done || kind == ipc::ReportKind::Released;
  report.records = done_something || kind == ipc::ReportKind::Survived ? slice.records : 0;
  if (done_something && slice.last >= slice.command.start && slice.last < next) {
    report.last_offset = report.last_timestamp = slice.last;
    report.last_digest = world_->sabotaged(Sabotage::BlindComparison) ? 0 : slice.last_writing;
  }
  report.out = report.records;
  report.bytes = std::uint64_t{report.records} * 100;
  report.failure = static_cast<std::uint16_t>(failure);
  std::string text;
  if (kind == ipc::ReportKind::Failed)
    text = ipc::encode_failure_text({"sim", "put", "bad record"});
  push(report, std::move(text));
}

void WorkerProcess::send_garbage() {
  if (gone() || hung_) return;
  honest_ = false;
  ipc::Report report;
  report.kind = static_cast<std::uint16_t>(ipc::ReportKind::Done);
  report.slice_id = current_ ? current_->command.slice_id : 123'456'789;
  report.fence = current_ ? current_->command.fence : 1;
  report.partition = current_ ? current_->command.partition : 0;
  report.next_offset = current_ ? current_->command.end : 0;
  switch (random_.below(5)) {
    case 0:
      report.slice_id += 1'000'000;
      break;
    case 1:
      report.next_offset += 1;
      break;
    case 2:
      report.fence += 1'000;
      break;
    case 3:
      report.records = 1'000'000;
      break;
    default:
      report.kind = static_cast<std::uint16_t>(ipc::ReportKind::Seen);
      report.next_offset = world_->broker().at(report.partition).end + 1'000;
      break;
  }
  push(report);
}

void WorkerProcess::freeze(std::int64_t for_us) {
  frozen_until_us_ = world_->now_us() + for_us;
  world_->checkers().frozen(incarnation_);
  world_->after(for_us, incarnation_, [this] {
    if (gone() || hung_ || frozen_until_us_ > world_->now_us()) return;
    // A flush that was under way when it froze has its answer now.
    if (pulse_.phase == ipc::Phase::Flush && !group_.empty() && !current_) return flushed();
    schedule(0);
  });
}

void WorkerProcess::leave(int code) {
  die({supervisor::ExitStatus::Kind::Exited, code});
}

void WorkerProcess::host_is_gone() {
  die({supervisor::ExitStatus::Kind::Exited, 0});
}

void WorkerProcess::crash(int number) {
  ipc::CrashNote note;
  note.state = ipc::CrashState::Complete;
  note.signal = number;
  note.thread = ipc::CrashThread::Task;
  note.slice_id = pulse_.slice_id;
  note.offset = pulse_.offset;
  note.phase = pulse_.phase;
  note.position = pulse_.position;
  note_ = note;
  die({supervisor::ExitStatus::Kind::Signalled, number});
}

/// SIGABRT leaves a note, SIGKILL does not. A process in D state takes its time for both.
void WorkerProcess::signal(int number) {
  const bool slow = random_.once_in(20);
  const std::int64_t delay_us = slow ? 2 * kSecond : 500;
  world_->after(delay_us, incarnation_, [this, number] {
    if (gone()) return;
    if (number == SIGABRT) return crash(number);
    die({supervisor::ExitStatus::Kind::Signalled, number});
  });
}

/// What was put and not flushed may or may not have reached its destination, from the beginning on.
void WorkerProcess::die(supervisor::ExitStatus status) {
  if (gone()) return;
  exit_status_ = status;
  const std::size_t written = random_.below(volatile_.size() + 1);
  if (writes_by_name()) {
    write_by_name(random_.below(group_.size() + 1));
  } else if (random_.once_in(2)) {
    for (std::size_t i = 0; i < written; ++i) {
      world_->deliver(volatile_[i].at, volatile_[i].writing);
    }
  }
  world_->process_died(*this);
}

}  // namespace sluice::sim
