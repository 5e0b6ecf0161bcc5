// Goal: what a worker writes is either a sound report or a violation that names its rule, and the
// first violation is final (facts 3.4). Method: a third hand writes into the worker's segment.
#include <cstring>

#include "channel_pair.hpp"

namespace sluice::ipc::test {
namespace {

Violation require_violation(HostChannel& host) {
  std::array<ReceivedReport, 8> out;
  auto drained = host.drain(out);
  REQUIRE_FALSE(drained);
  REQUIRE(drained.error().code() == ErrorCode::Violation);
  REQUIRE(drained.error().violation());
  return *drained.error().violation();
}

}  // namespace

TEST_CASE("a report of an unknown kind is a violation, with its bytes and both indices", "[ipc]") {
  for (const int kind : {0, kReportKindLast + 1, 0xffff}) {
    ChannelPair pair;
    Report report = make_report(ReportKind::Done, 4711);
    report.kind = static_cast<std::uint16_t>(kind);
    pair.forge(report);
    const Violation violation = require_violation(pair.host);
    CHECK(violation.rule == Rule::Kind);
    CHECK(violation.tail == 1);
    CHECK(violation.head == 1);
    Report kept;
    std::memcpy(&kept, violation.slot.data(), sizeof kept);
    CHECK(kept.slice_id == 4711);
  }
}

TEST_CASE("a report of an unknown failure class is a violation", "[ipc]") {
  ChannelPair pair;
  Report report = make_report(ReportKind::Failed);
  report.failure = kFailureClassLast + 1;
  pair.forge(report);
  CHECK(require_violation(pair.host).rule == Rule::Kind);
}

TEST_CASE("a report that claims more text than an arena entry holds is a violation", "[ipc]") {
  ChannelPair pair;
  Report report = make_report(ReportKind::Failed);
  report.arena_len = kArenaEntrySize + 1;
  pair.forge(report);
  CHECK(require_violation(pair.host).rule == Rule::ArenaLength);
}

TEST_CASE("sound reports before a bad one are delivered, then the violation", "[ipc]") {
  ChannelPair pair;
  REQUIRE(pair.worker.report(make_report(ReportKind::Done, 1)));
  REQUIRE(pair.worker.report(make_report(ReportKind::Done, 2)));
  pair.wild->reports[1].words[2].fetch_xor(1);
  std::array<ReceivedReport, 8> out;
  auto drained = pair.host.drain(out);
  REQUIRE(drained);
  REQUIRE(*drained == 1);
  CHECK(out[0].report.slice_id == 1);
  CHECK(require_violation(pair.host).rule == Rule::Crc);
}

TEST_CASE("a violation is final even when the worker mends what it wrote", "[ipc]") {
  ChannelPair pair;
  REQUIRE(pair.worker.report(make_report(ReportKind::Done, 1)));
  pair.wild->reports[0].words[2].fetch_xor(1);
  CHECK(require_violation(pair.host).rule == Rule::Crc);
  pair.wild->reports[0].words[2].fetch_xor(1);
  CHECK(require_violation(pair.host).rule == Rule::Crc);
}

TEST_CASE("a worker that moves its tail anywhere gains nothing", "[ipc]") {
  for (const std::uint64_t tail : {kRingSlots + 1, std::uint64_t{1} << 40, UINT64_MAX}) {
    ChannelPair pair;
    pair.wild->report_tail.store(tail);
    const Rule rule = require_violation(pair.host).rule;
    CHECK(rule == (tail == UINT64_MAX ? Rule::TailWentBack : Rule::TailTooFar));
  }
}

TEST_CASE(
    "a worker that claims to have read what was not published is found when the host publishes",
    "[ipc]") {
  ChannelPair pair;
  const std::vector<Command> many(kRingSlots, make_command(CommandKind::Slice));
  REQUIRE(pair.host.publish(many));
  pair.wild->command_head.store(kRingSlots + 1);
  const auto published = pair.host.publish({many.data(), 1});
  REQUIRE_FALSE(published);
  REQUIRE(published.error().violation());
  CHECK(published.error().violation()->rule == Rule::HeadTooFar);
}

TEST_CASE("a pulse cannot claim an unknown phase, a time to come or fewer loops", "[ipc]") {
  ChannelPair pair;
  pair.worker.pulse().enter(Phase::Put, 9, 1000);
  pair.worker.pulse().beat();
  const Pulse before = pair.host.pulse();
  CHECK(before.phase == Phase::Put);
  CHECK(before.loops == 1);
  CHECK(before.phase_since_ns > 0);
  pair.wild->pulse.phase.store(kPhaseLast + 1);
  pair.wild->pulse.loops.store(0);
  pair.wild->pulse.phase_since_ns.store(UINT64_MAX);
  pair.wild->pulse.deadline_extended_ns.store(UINT64_MAX);
  const Pulse after = pair.host.pulse();
  CHECK(after.phase == Phase::Put);
  CHECK(after.loops == 1);
  CHECK(after.phase_since_ns == 0);
  CHECK(after.deadline_extended_ns == 0);
}

TEST_CASE("a counter never goes back", "[ipc]") {
  ChannelPair pair;
  pair.worker.counters().add(Counter::Records, 100);
  CHECK(pair.host.counters()[Counter::Records] == 100);
  pair.wild->counters[static_cast<std::size_t>(Counter::Records)].store(7);
  CHECK(pair.host.counters()[Counter::Records] == 100);
}

TEST_CASE("a crash note of garbage reads as no note, or as a note within its bounds", "[ipc]") {
  ChannelPair pair;
  auto* bytes = reinterpret_cast<unsigned char*>(&pair.wild->crash_note);
  std::memset(bytes, 0xff, sizeof(CrashNoteBlock));
  std::memset(reinterpret_cast<unsigned char*>(&pair.wild->modules), 0xff, 256 * kModulesMax);
  CHECK_FALSE(pair.host.crash_note());
  pair.wild->crash_note.state.store(static_cast<std::uint32_t>(CrashState::Complete));
  pair.wild->crash_note.frames[0].store(0);
  const auto note = pair.host.crash_note();
  REQUIRE(note);
  CHECK(note->frames.size() == kCrashFramesMax);
  CHECK(note->phase == Phase::Idle);
  CHECK(note->frames[0].module.size() == 3 * kModuleNameSize);  // all U+FFFD
  CHECK(note->frames[0].build_id.size() == 2 * kBuildIdSizeMax);
  CHECK(note->frames[1].module.empty());
}

TEST_CASE("a sleep count of garbage costs at most one ring per publish", "[ipc]") {
  ChannelPair pair;
  const std::array commands{make_command(CommandKind::Slice)};
  for (const std::uint32_t count : {0U, 2U, 0xfffffffeU}) {  // awake, it says
    pair.wild->worker_sleep.store(count);
    REQUIRE(pair.host.publish(commands));
    CHECK_FALSE(readable(pair.worker.doorbell_fd()));
  }
  pair.wild->worker_sleep.store(0xffffffffU);
  REQUIRE(pair.host.publish(commands));
  CHECK(readable(pair.worker.doorbell_fd()));
}

}  // namespace sluice::ipc::test
