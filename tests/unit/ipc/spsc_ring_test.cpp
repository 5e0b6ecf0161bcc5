// Goal: a ring delivers everything once and in order, and no state that a death or a wild store can
// leave makes an end accept what was not published (facts 3.3, 3.4, 3.6). Torn states by hand.
#include "ipc/spsc_ring.hpp"

#include <catch2/catch.hpp>
#include <thread>

#include "channel_pair.hpp"
#include "ring_memory.hpp"

namespace sluice::ipc::test {
namespace {

constexpr std::uint64_t kNearTheEnd = UINT64_MAX - 500;  // indices wrap within one ring

Rule available(RingReader<Report>& reader) {
  std::uint64_t slots = 0;
  return reader.available(slots);
}

std::uint64_t count_available(RingReader<Report>& reader) {
  std::uint64_t slots = 0;
  REQUIRE(reader.available(slots) == Rule::None);
  return slots;
}

void publish(RingWriter<Report>& writer, std::uint64_t slice_id) {
  std::uint64_t free = 0;
  REQUIRE(writer.free_slots(1, free) == Rule::None);
  REQUIRE(free >= 1);
  writer.put(make_report(ReportKind::Done, slice_id));
  writer.publish();
}

}  // namespace

TEST_CASE("a slot that was filled but not published does not exist", "[ipc]") {
  RingMemory<Report> memory;
  auto writer = memory.writer();
  auto reader = memory.reader();
  writer.put(make_report(ReportKind::Done));
  CHECK_FALSE(reader.has_more());
  CHECK(count_available(reader) == 0);
}

TEST_CASE("a published slot is whole even if the writer never comes back", "[ipc]") {
  RingMemory<Report> memory;
  {
    auto writer = memory.writer();
    publish(writer, 5);
  }
  auto reader = memory.reader();
  REQUIRE(count_available(reader) == 1);
  Report report;
  CHECK(reader.read(report) == Rule::None);
  CHECK(report.slice_id == 5);
}

TEST_CASE("a tail that was stored before its slot was filled is a bad sequence", "[ipc]") {
  RingMemory<Report> memory{1024};
  memory.tail.store(1025);
  auto reader = memory.reader();
  REQUIRE(count_available(reader) == 1);
  Report report;
  CHECK(reader.read(report) == Rule::Sequence);
  CHECK(reader.next() == 1024);
}

TEST_CASE("a slot of which only some words were written is refused, whichever they are", "[ipc]") {
  for (std::size_t written = 0; written < Slot<Report>::kWords; ++written) {
    RingMemory<Report> memory;
    auto writer = memory.writer();
    publish(writer, 5);
    // One lap later the same place gets the first `written` words of a new report, then the tail.
    RingMemory<Report> fresh{kRingSlots};
    auto other = fresh.writer();
    publish(other, 6);
    for (std::size_t i = 0; i < written; ++i) {
      (*memory.slots)[0].words[i].store((*fresh.slots)[0].words[i].load());
    }
    memory.tail.store(kRingSlots + 1);
    RingReader<Report> reader{*memory.slots, memory.tail, memory.head, kRingSlots};
    REQUIRE(count_available(reader) == 1);
    Report report;
    const Rule rule = reader.read(report);
    CHECK(rule == (written == 0 ? Rule::Sequence : Rule::Crc));
  }
}

TEST_CASE("a tail that jumps by more than a ring is refused and not remembered", "[ipc]") {
  RingMemory<Report> memory;
  auto writer = memory.writer();
  auto reader = memory.reader();
  publish(writer, 1);
  memory.tail.store(kRingSlots + 1);
  CHECK(available(reader) == Rule::TailTooFar);
  CHECK(reader.violation(Rule::TailTooFar).tail == kRingSlots + 1);
  memory.tail.store(1);
  CHECK(count_available(reader) == 1);
}

TEST_CASE("a tail below what was read is refused", "[ipc]") {
  RingMemory<Report> memory;
  auto writer = memory.writer();
  auto reader = memory.reader();
  publish(writer, 1);
  Report report;
  REQUIRE(count_available(reader) == 1);
  REQUIRE(reader.read(report) == Rule::None);
  memory.tail.store(0);
  CHECK(available(reader) == Rule::TailWentBack);
}

TEST_CASE("a tail rolled back to unread slots that were seen before is refused", "[ipc]") {
  RingMemory<Report> memory;
  auto writer = memory.writer();
  auto reader = memory.reader();
  for (std::uint64_t id = 0; id < 10; ++id) publish(writer, id);
  REQUIRE(count_available(reader) == 10);
  memory.tail.store(5);
  CHECK(available(reader) == Rule::TailWentBack);
}

TEST_CASE("an old slot copied to a new place is a bad sequence although its checksum is right",
          "[ipc]") {
  RingMemory<Report> memory;
  auto writer = memory.writer();
  auto reader = memory.reader();
  publish(writer, 1);
  publish(writer, 2);
  (*memory.slots)[1].store((*memory.slots)[0].load());
  REQUIRE(count_available(reader) == 2);
  Report report;
  CHECK(reader.read(report) == Rule::None);
  CHECK(reader.read(report) == Rule::Sequence);
}

TEST_CASE("no single flipped bit of a published slot is accepted", "[ipc]") {
  RingMemory<Report> memory;
  auto writer = memory.writer();
  auto reader = memory.reader();
  publish(writer, 0x5555AAAA);
  REQUIRE(count_available(reader) == 1);
  for (std::size_t bit = 0; bit < sizeof(Report) * 8; ++bit) {
    auto& word = (*memory.slots)[0].words[bit / 64];
    const std::uint64_t flip = std::uint64_t{1} << (bit % 64);
    word.fetch_xor(flip);
    Report report;
    REQUIRE(reader.read(report) != Rule::None);
    word.fetch_xor(flip);
  }
  Report report;
  CHECK(reader.read(report) == Rule::None);
}

TEST_CASE("a full ring offers no slot, and offers it again only after the reader's release",
          "[ipc]") {
  RingMemory<Report> memory{kNearTheEnd};
  auto writer = memory.writer();
  auto reader = memory.reader();
  for (std::uint64_t id = 0; id < kRingSlots; ++id) publish(writer, id);
  std::uint64_t free = 1;
  REQUIRE(writer.free_slots(1, free) == Rule::None);
  CHECK(free == 0);
  Report report;
  REQUIRE(count_available(reader) == kRingSlots);
  REQUIRE(reader.read(report) == Rule::None);
  REQUIRE(writer.free_slots(1, free) == Rule::None);
  CHECK(free == 0);
  reader.release();
  REQUIRE(writer.free_slots(1, free) == Rule::None);
  CHECK(free == 1);
}

TEST_CASE("a reader's head beyond the tail or below an earlier head is refused", "[ipc]") {
  RingMemory<Report> memory;
  auto writer = memory.writer();
  for (std::uint64_t id = 0; id < 4; ++id) publish(writer, id);
  std::uint64_t free = 0;
  memory.head.store(5);
  CHECK(writer.free_slots(kRingSlots, free) == Rule::HeadTooFar);
  memory.head.store(3);
  REQUIRE(writer.free_slots(kRingSlots, free) == Rule::None);
  memory.head.store(2);
  CHECK(writer.free_slots(kRingSlots, free) == Rule::HeadWentBack);
  CHECK(writer.head() == 3);
}

TEST_CASE("two threads over one mapping: everything arrives once, in order, across the wrap",
          "[ipc]") {
  constexpr std::uint64_t kReports = 100'000;
  RingMemory<Report> memory{kNearTheEnd};
  std::thread writing{[&memory] {
    auto writer = memory.writer();
    for (std::uint64_t id = 0; id < kReports;) {
      std::uint64_t free = 0;
      if (writer.free_slots(1, free) != Rule::None) return;
      for (; free > 0 && id < kReports; --free) {
        writer.put(make_report(ReportKind::Done, id++));
        if (id % 7 == 0) writer.publish();
      }
      writer.publish();
      std::this_thread::yield();
    }
  }};
  auto reader = memory.reader();
  std::uint64_t expected = 0;
  std::uint64_t refused = 0;
  while (expected < kReports && refused == 0) {
    std::uint64_t slots = 0;
    if (reader.available(slots) != Rule::None) ++refused;
    for (; slots > 0 && refused == 0; --slots) {
      Report report;
      const bool sound = reader.read(report) == Rule::None && report.slice_id == expected;
      if (!sound) ++refused;
      ++expected;
    }
    reader.release();
    std::this_thread::yield();
  }
  writing.join();
  CHECK(refused == 0);
  CHECK(expected == kReports);
}

}  // namespace sluice::ipc::test
