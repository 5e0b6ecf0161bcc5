// Goal: a worker that writes garbage over everything it can write makes the host accept nothing
// that the worker's own code did not publish, and never crashes it (facts 3.4, P15). Run under the
// asan preset this is the proof that no worker byte reaches an index, a length or a branch
// unchecked.
//
// Method A: one segment, a true writer whose reports follow from their sequence number, a mutator
// and the host's receiver, taking turns in one thread: cheap, so there can be many. After each
// violation, which in production kills the worker, the next life begins at a new sequence number
// over the same, dirty memory. Method B: the same three as three threads, so that words change
// while they are read. Method C: the whole HostChannel over real mappings: pulse, counters, note
// and publish as well.
#include <cstring>
#include <thread>
#include <vector>

#include "channel_pair.hpp"
#include "ipc/failure_text.hpp"
#include "scale.hpp"

namespace sluice::ipc::test {
namespace {

constexpr std::uint64_t kShortRun = 500'000;
constexpr std::uint64_t kFullRun = 100'000'000;
constexpr std::uint64_t kShortRunOfThreads = 100'000;
constexpr std::uint64_t kFullRunOfThreads = 5'000'000;
constexpr std::uint64_t kReportsPerRound = 64;
constexpr std::uint64_t kMutationsPerRound = 64;

using Words = std::array<std::atomic<std::uint64_t>, sizeof(WorkerSegment) / 8>;

Words& words_of(WorkerSegment& segment) {
  return *reinterpret_cast<Words*>(&segment);
}

Report true_report(std::uint64_t seq) {
  Report report = make_report(static_cast<ReportKind>(1 + seq % kReportKindLast));
  report.slice_id = seq * 0x9E3779B97F4A7C15U;
  report.next_offset = static_cast<std::int64_t>(seq ^ 0x5555);
  report.records = static_cast<std::uint32_t>(seq);
  // Few have a text: sanitising it costs more than all the rest.
  if (seq % 16 == 0) report.arena_len = static_cast<std::uint16_t>(seq / 16 % kArenaEntrySize);
  return report;
}

bool is_true(Report found) {
  Report expected = true_report(found.seq);
  expected.seq = found.seq;
  expected.crc32c = found.crc32c;
  return std::memcmp(&found, &expected, sizeof found) == 0;
}

// One wild store: anywhere, or where it hurts most. `lap` is the sequence number of this round.
void mutate(WorkerSegment& segment, Chance& chance, std::uint64_t lap) {
  Words& words = words_of(segment);
  const auto relaxed = std::memory_order_relaxed;
  const std::uint64_t near = (lap + chance.below(kReportsPerRound)) & kSlotMask;
  Slot<Report>& slot = segment.reports[near];
  switch (chance.below(10)) {
    case 0:  // a flipped bit anywhere
      words[chance.below(words.size())].fetch_xor(std::uint64_t{1} << chance.below(64), relaxed);
      break;
    case 1:  // a word of garbage anywhere
      words[chance.below(words.size())].store(chance.next(), relaxed);
      break;
    case 2:  // a flipped bit in a slot of this round
      slot.words[chance.below(16)].fetch_xor(std::uint64_t{1} << chance.below(64), relaxed);
      break;
    case 3:  // a torn slot: half of it is another one
      for (std::size_t i = 0; i < 8; ++i) {
        slot.words[i].store(segment.reports[chance.below(kRingSlots)].words[i].load(relaxed),
                            relaxed);
      }
      break;
    case 4:  // a replayed slot: another one, whole and with a true checksum
      slot.store(segment.reports[chance.below(kRingSlots)].load());
      break;
    case 5:  // a slot of this round replayed inside this round
      slot.store(segment.reports[(lap + chance.below(kReportsPerRound)) & kSlotMask].load());
      break;
    case 6:  // the tail rolled back
      segment.report_tail.store(lap + chance.below(kReportsPerRound), relaxed);
      break;
    case 7:  // the tail a little, or far, ahead
      segment.report_tail.store(lap + chance.below(2 * kRingSlots), relaxed);
      break;
    case 8:
      segment.report_tail.store(chance.next(), relaxed);
      break;
    default:  // a text of garbage under the reader's hands
      segment.arena[near].words[chance.below(kArenaEntrySize / 8)].store(chance.next(), relaxed);
      break;
  }
}

struct Tally {
  std::uint64_t accepted = 0;
  std::uint64_t false_accepted = 0;
  std::uint64_t bad_texts = 0;
  std::array<std::uint64_t, kRuleCount> refused{};

  std::uint64_t refusals(Rule rule) const { return refused[static_cast<std::size_t>(rule)]; }
};

// The true writer's next report. Now and then it lies as only its own code could: checksum right,
// content wrong.
void put_report(RingWriter<Report>& writer, Chance& chance) {
  Report report = true_report(writer.next());
  if (chance.below(400) == 0) report.kind = static_cast<std::uint16_t>(chance.next() | 0x100U);
  if (chance.below(400) == 0) report.arena_len = kArenaEntrySize + 1;
  writer.put(report);
  writer.publish();
}

enum class Outcome { Nothing, Reports, Violation };

// One drain of the host, judged.
Outcome drain_once(ReportReceiver& receiver, Tally& tally) {
  std::array<ReceivedReport, 16> out;
  const auto drained = receiver.drain(out);
  if (!drained) {
    ++tally.refused[static_cast<std::size_t>(drained.error().violation().value().rule)];
    return Outcome::Violation;
  }
  for (std::size_t i = 0; i < *drained; ++i) {
    ++tally.accepted;
    if (!is_true(out[i].report)) ++tally.false_accepted;
    if (sanitized(out[i].text, 2) != out[i].text) ++tally.bad_texts;
  }
  return *drained > 0 ? Outcome::Reports : Outcome::Nothing;
}

// 2 x kRingSlots apart: no number of one life is within a ring of another's.
std::uint64_t first_number(std::uint64_t life) {
  return life * 2 * kRingSlots;
}

// Method A.
Tally fuzz_in_turns(std::uint64_t mutations) {
  const auto segment = std::make_unique<WorkerSegment>();
  std::atomic<std::uint64_t> report_head{0};
  Chance chance{10};
  Tally tally;
  for (std::uint64_t life = 1, made = 0; made < mutations; ++life) {
    const std::uint64_t first = first_number(life);
    report_head.store(first);
    segment->report_tail.store(first);
    RingWriter<Report> writer{segment->reports, segment->report_tail, report_head, first};
    ReportReceiver receiver{*segment, report_head, first};
    for (Outcome last = Outcome::Nothing; last != Outcome::Violation && made < mutations;) {
      for (std::uint64_t reports = chance.below(8); reports > 0; --reports) {
        std::uint64_t free = 0;
        if (writer.free_slots(1, free) != Rule::None || free == 0) break;
        put_report(writer, chance);
      }
      for (std::uint64_t wild = chance.below(4); wild > 0; --wild, ++made) {
        mutate(*segment, chance, writer.head());
      }
      last = drain_once(receiver, tally);
    }
  }
  return tally;
}

// All state of method B. Rounds are handed from thread to thread by `turn`: odd = a round runs.
struct FuzzScene {
  std::unique_ptr<WorkerSegment> segment = std::make_unique<WorkerSegment>();
  std::atomic<std::uint64_t> report_head{0};
  std::atomic<std::uint64_t> round{0};     // rounds begun; the threads wait for their next one
  std::atomic<std::uint64_t> finished{0};  // threads of the round that are done, two a round
  std::atomic<bool> over{false};
};

template <typename Work>
void every_round(FuzzScene& scene, Work work) {
  for (std::uint64_t next = 1;; ++next) {
    while (scene.round.load(std::memory_order_acquire) < next) {
      if (scene.over.load(std::memory_order_relaxed)) return;
      std::this_thread::yield();
    }
    work(first_number(next));
    scene.finished.fetch_add(1, std::memory_order_release);
  }
}

void write_round(FuzzScene& scene, Chance& chance, std::uint64_t lap) {
  WorkerSegment& segment = *scene.segment;
  RingWriter<Report> writer{segment.reports, segment.report_tail, scene.report_head, lap};
  for (std::uint64_t i = 0; i < kReportsPerRound; ++i) {
    put_report(writer, chance);
    if (i % 16 == 0) std::this_thread::yield();
  }
}

// The host's part of one round: until the first violation, or until nothing comes any more.
void receive_round(FuzzScene& scene, std::uint64_t round, Tally& tally) {
  ReportReceiver receiver{*scene.segment, scene.report_head, first_number(round)};
  for (bool last = false;;) {
    const Outcome outcome = drain_once(receiver, tally);
    if (outcome == Outcome::Violation || (outcome == Outcome::Nothing && last)) return;
    if (outcome == Outcome::Reports) continue;
    last = scene.finished.load(std::memory_order_acquire) == 2 * round;
    std::this_thread::yield();
  }
}

Tally fuzz_in_threads(std::uint64_t mutations) {
  FuzzScene scene;
  std::thread writing{[&scene] {
    Chance chance{11};
    every_round(scene, [&](std::uint64_t lap) { write_round(scene, chance, lap); });
  }};
  std::thread mutating{[&scene] {
    Chance chance{12};
    every_round(scene, [&](std::uint64_t lap) {
      for (std::uint64_t i = chance.below(kMutationsPerRound); i < kMutationsPerRound; ++i) {
        mutate(*scene.segment, chance, lap);
      }
    });
  }};
  Tally tally;
  // The mutator makes half of kMutationsPerRound on average.
  for (std::uint64_t round = 1; round <= 2 * mutations / kMutationsPerRound; ++round) {
    scene.report_head.store(first_number(round), std::memory_order_relaxed);
    scene.segment->report_tail.store(first_number(round), std::memory_order_relaxed);
    scene.round.store(round, std::memory_order_release);
    receive_round(scene, round, tally);
    while (scene.finished.load(std::memory_order_acquire) < 2 * round) std::this_thread::yield();
  }
  scene.over.store(true);
  writing.join();
  mutating.join();
  return tally;
}

// Everything that the host's loop does with a channel; false once the worker would be killed.
bool host_turn(HostChannel& host, Tally& tally) {
  std::array<ReceivedReport, 16> out;
  const Command command = make_command(CommandKind::Slice);
  host.prepare_to_sleep();
  host.has_reports();
  host.woken();
  const Pulse pulse = host.pulse();
  if (static_cast<std::uint32_t>(pulse.phase) > kPhaseLast) ++tally.false_accepted;
  host.counters();
  if (const auto note = host.crash_note(); note && note->frames.size() > kCrashFramesMax) {
    ++tally.false_accepted;
  }
  const auto published = host.publish({&command, 1});
  if (!published && published.error().violation()) {
    ++tally.refused[static_cast<std::size_t>(published.error().violation().value().rule)];
    return false;
  }
  const auto drained = host.drain(out);
  if (!drained) {
    ++tally.refused[static_cast<std::size_t>(drained.error().violation().value().rule)];
    return false;
  }
  for (std::size_t i = 0; i < *drained; ++i) {
    ++tally.accepted;
    if (!is_true(out[i].report)) ++tally.false_accepted;
  }
  return published.has_value();
}

}  // namespace

TEST_CASE("wild stores make the host accept nothing that was not published", "[ipc]") {
  const Tally tally = fuzz_in_turns(steps(kShortRun, kFullRun));
  CHECK(tally.false_accepted == 0);
  CHECK(tally.bad_texts == 0);
  CHECK(tally.accepted > 0);
  for (const Rule rule : {Rule::TailTooFar, Rule::TailWentBack, Rule::Sequence, Rule::Crc,
                          Rule::Kind, Rule::ArenaLength}) {
    INFO(rule_name(rule));
    CHECK(tally.refusals(rule) > 0);
  }
}

TEST_CASE("wild stores while the host reads make it accept nothing either", "[ipc]") {
  const Tally tally = fuzz_in_threads(steps(kShortRunOfThreads, kFullRunOfThreads));
  CHECK(tally.false_accepted == 0);
  CHECK(tally.bad_texts == 0);
  CHECK(tally.accepted > 0);
  CHECK(tally.refusals(Rule::Sequence) + tally.refusals(Rule::Crc) > 0);
}

TEST_CASE("a host channel over a segment of garbage only ever says violation", "[ipc]") {
  const std::uint64_t channels = steps(300, 100'000);
  Chance chance{21};
  Tally tally;
  for (std::uint64_t i = 0; i < channels; ++i) {
    ChannelPair pair;
    for (int turn = 0; turn < 50; ++turn) {
      const Report report = true_report(static_cast<std::uint64_t>(turn));
      if (!pair.worker.report(report, std::string(report.arena_len, 'x'))) break;
      std::array<Command, 4> commands;
      if (!pair.worker.read(commands)) break;
      for (std::uint64_t wild = chance.below(8); wild > 0; --wild) {
        mutate(*pair.wild, chance, static_cast<std::uint64_t>(turn));
      }
      if (chance.below(16) == 0) pair.wild->command_head.store(chance.next());
      if (!host_turn(pair.host, tally)) break;
    }
  }
  CHECK(tally.false_accepted == 0);
  CHECK(tally.accepted > 0);
}

}  // namespace sluice::ipc::test
