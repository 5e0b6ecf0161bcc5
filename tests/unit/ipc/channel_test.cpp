#include <sys/eventfd.h>

#include <string>
#include <thread>
#include <vector>

#include "channel_pair.hpp"
#include "ipc/failure_text.hpp"

namespace sluice::ipc::test {
namespace {

std::uint64_t rings(int doorbell) {
  eventfd_t count = 0;
  return ::eventfd_read(doorbell, &count) == 0 ? count : 0;
}

}  // namespace

TEST_CASE("a command arrives with every field as it was published", "[ipc]") {
  ChannelPair pair;
  Command sent = make_command(CommandKind::Slice, 42);
  sent.fence = 7;
  sent.topic = 2;
  sent.partition = 11;
  sent.attempt = 3;
  sent.start = 1'000'000'000'000;
  sent.end = 1'000'000'010'000;
  sent.epoch = 1;
  sent.lane = 4;
  sent.filter = 5;
  sent.flags = kAlone | kStable;
  REQUIRE(pair.host.publish({&sent, 1}));
  std::array<Command, 4> read;
  const auto count = pair.worker.read(read);
  REQUIRE(count);
  REQUIRE(*count == 1);
  sent.seq = read[0].seq;
  sent.crc32c = read[0].crc32c;
  CHECK(std::memcmp(&sent, read.data(), sizeof sent) == 0);
}

TEST_CASE("a dead letter's command brings its verdict along", "[ipc]") {
  ChannelPair pair;
  const Verdict crash{{"archive", "CRASH", "SIGSEGV in put"}, 1, 4711, 11, std::string(64, 'a')};
  const Verdict refusal{{"archive", "put", "boom"}, 0, 0, 0, {}};
  REQUIRE(pair.host.publish_dead_letter(make_command(CommandKind::Slice, 1), crash));
  REQUIRE(pair.host.publish_dead_letter(make_command(CommandKind::Slice, 2), refusal));
  std::array<Command, 4> read;
  REQUIRE(*pair.worker.read(read) == 2);
  CHECK((read[0].flags & kDeadLetterOnly) != 0);
  CHECK(pair.worker.verdict(read[0].filter) == crash);
  CHECK(pair.worker.verdict(read[1].filter) == refusal);
}

TEST_CASE("a verdict that does not fit is cut in its words alone", "[ipc]") {
  const Verdict verdict{{"archive", "HANG", std::string(2000, 'x')}, 1, 2, 6, std::string(64, 'b')};
  const Verdict kept = decode_verdict(encode_verdict(verdict));
  CHECK(kept.text.plugin == "archive");
  CHECK(kept.text.stage == "HANG");
  CHECK(kept.text.message.size() > 900);
  CHECK(kept.plugin_sha256 == verdict.plugin_sha256);
}

TEST_CASE("a verdict is not overwritten before its command was taken", "[ipc]") {
  ChannelPair pair;
  const auto publish = [&](std::size_t number) {
    return pair.host.publish_dead_letter(make_command(CommandKind::Slice),
                                         {{"p", "CRASH", std::to_string(number)}, 0, 0, 0, {}});
  };
  for (std::size_t i = 0; i < kVerdictsMax; ++i) REQUIRE(publish(i));
  const auto refused = publish(kVerdictsMax);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == ErrorCode::Full);
  std::array<Command, 1> read;
  REQUIRE(*pair.worker.read(read) == 1);
  CHECK(pair.worker.verdict(read[0].filter).text.message == "0");
  CHECK(publish(kVerdictsMax));
  CHECK_FALSE(publish(kVerdictsMax + 1));
}

TEST_CASE("a probe's command brings its terms along (F3.4)", "[ipc]") {
  ChannelPair pair;
  SliceTerms full{100, 200, {}};
  for (std::int64_t offset = 0; offset < 16; ++offset) full.excluded.push_back(100 + offset);
  const SliceTerms none{100, 200, {}};
  const Command plain = make_command(CommandKind::Slice, 1);
  REQUIRE(pair.host.publish({&plain, 1}));
  REQUIRE(pair.host.publish_with_terms(make_command(CommandKind::Slice, 2), full));
  REQUIRE(pair.host.publish_with_terms(make_command(CommandKind::Slice, 3), none));
  std::array<Command, 4> read;
  REQUIRE(*pair.worker.read(read) == 3);
  CHECK(read[1].slice_id == 2);
  CHECK(pair.worker.slice_terms(read[1].seq) == full);
  CHECK(pair.worker.slice_terms(read[2].seq) == none);
}

TEST_CASE("terms that count more offsets than there are are read as far as they go", "[ipc]") {
  SliceTermsSlot slot = encode_slice_terms({1, 5, {2, 3}});
  slot.excluded_count = ~std::uint64_t{0};
  CHECK(decode_slice_terms(slot).excluded.size() == kExcludedMax);
}

TEST_CASE("terms are not overwritten before their command was taken", "[ipc]") {
  ChannelPair pair;
  REQUIRE(pair.host.publish_with_terms(make_command(CommandKind::Slice), {0, 1, {}}));
  for (std::size_t i = 1; i < kSliceTermsMax; ++i) {
    const Command command = make_command(CommandKind::Slice);
    REQUIRE(pair.host.publish({&command, 1}));
  }
  const auto refused = pair.host.publish_with_terms(make_command(CommandKind::Slice), {0, 2, {}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == ErrorCode::Full);
  std::array<Command, 1> read;
  REQUIRE(*pair.worker.read(read) == 1);
  CHECK(pair.worker.slice_terms(read[0].seq).end == 1);
  CHECK(pair.host.publish_with_terms(make_command(CommandKind::Slice), {0, 2, {}}));
}

TEST_CASE("commands are published all or not at all", "[ipc]") {
  ChannelPair pair;
  const std::vector<Command> most(kRingSlots - 1, make_command(CommandKind::Slice));
  REQUIRE(pair.host.publish(most));
  const std::vector<Command> two(2, make_command(CommandKind::Slice));
  const auto refused = pair.host.publish(two);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == ErrorCode::Full);
  std::vector<Command> read(2 * kRingSlots);
  CHECK(*pair.worker.read(read) == kRingSlots - 1);
  CHECK(pair.host.publish(two));
  CHECK(*pair.worker.read(read) == 2);
}

TEST_CASE("a worker that reads a few commands at a time misses none", "[ipc]") {
  ChannelPair pair;
  for (std::uint64_t id = 0; id < 5; ++id) {
    const Command command = make_command(CommandKind::Slice, id);
    REQUIRE(pair.host.publish({&command, 1}));
  }
  std::array<Command, 3> read;
  REQUIRE(*pair.worker.read(read) == 3);
  CHECK(read[2].slice_id == 2);
  CHECK(pair.worker.has_commands());
  REQUIRE(*pair.worker.read(read) == 2);
  CHECK(read[1].slice_id == 4);
  CHECK_FALSE(pair.worker.has_commands());
}

TEST_CASE("a topic is known to the worker from its Topic command on, not before", "[ipc]") {
  ChannelPair pair;
  REQUIRE(pair.host.publish_topic(1023, "orders", 9));
  CHECK(pair.worker.topic(1023).name.empty());
  std::array<Command, 1> read;
  REQUIRE(*pair.worker.read(read) == 1);
  CHECK(read[0].kind == static_cast<std::uint16_t>(CommandKind::Topic));
  CHECK(pair.worker.topic(1023).name == "orders");
  CHECK(pair.worker.topic(1023).incarnation == 9);
  CHECK(pair.worker.topic(1022).name.empty());
  CHECK(pair.worker.topic(1024).name.empty());
}

TEST_CASE("a topic table entry is written once, and only if it fits", "[ipc]") {
  ChannelPair pair;
  REQUIRE(pair.host.publish_topic(0, std::string(kTopicNameSizeMax, 't'), 1));
  CHECK(pair.host.publish_topic(0, "other", 1).error().code() == ErrorCode::Refused);
  CHECK(pair.host.publish_topic(1, "", 1).error().code() == ErrorCode::Refused);
  CHECK(pair.host.publish_topic(1024, "far", 1).error().code() == ErrorCode::Refused);
  const std::string too_long(kTopicNameSizeMax + 1, 't');
  CHECK(pair.host.publish_topic(1, too_long, 1).error().code() == ErrorCode::Refused);
  std::array<Command, 4> read;
  REQUIRE(*pair.worker.read(read) == 1);
  CHECK(pair.worker.topic(0).name.size() == kTopicNameSizeMax);
}

TEST_CASE("a report arrives with its fields and its text", "[ipc]") {
  ChannelPair pair;
  Report sent = make_report(ReportKind::Failed, 42);
  sent.failure = static_cast<std::uint16_t>(FailureClass::PluginFail);
  sent.next_offset = 123;
  sent.records = 17;
  REQUIRE(pair.worker.report(sent, encode_failure_text({"lines", "put", "disk full"})));
  std::array<ReceivedReport, 4> out;
  REQUIRE(*pair.host.drain(out) == 1);
  CHECK(out[0].report.slice_id == 42);
  CHECK(out[0].report.next_offset == 123);
  CHECK(out[0].report.records == 17);
  CHECK(decode_failure_text(out[0].text).message == "disk full");
}

TEST_CASE("a text is cut to its arena entry and belongs to its own report only", "[ipc]") {
  ChannelPair pair;
  REQUIRE(pair.worker.report(make_report(ReportKind::Waiting, 1), std::string(5000, 'x')));
  REQUIRE(pair.worker.report(make_report(ReportKind::Done, 2)));
  std::array<ReceivedReport, 4> out;
  REQUIRE(*pair.host.drain(out) == 2);
  CHECK(out[0].text == std::string(kArenaEntrySize, 'x'));
  CHECK(out[1].text.empty());
}

TEST_CASE("one drain takes a bounded number of reports and leaves the rest", "[ipc]") {
  ChannelPair pair;
  for (std::size_t i = 0; i < kReportsPerDrain + 10; ++i) {
    REQUIRE(pair.worker.report(make_report(ReportKind::Done, i)));
  }
  std::vector<ReceivedReport> out(kRingSlots);
  CHECK(*pair.host.drain(out) == kReportsPerDrain);
  CHECK(pair.host.has_reports());
  CHECK(*pair.host.drain(out) == 10);
  CHECK(out[9].report.slice_id == kReportsPerDrain + 9);
  CHECK(*pair.host.drain(out) == 0);
}

TEST_CASE("a worker with a full report ring waits and drops nothing", "[ipc]") {
  ChannelPair pair;
  std::thread reporting{[&pair] {
    for (std::uint64_t id = 0; id < kRingSlots + 100; ++id) {
      if (!pair.worker.report(make_report(ReportKind::Done, id))) return;
    }
  }};
  while (pair.host.counters()[Counter::ReportStalls] == 0) std::this_thread::yield();
  std::vector<ReceivedReport> out(kRingSlots);
  std::uint64_t expected = 0;
  while (expected < kRingSlots + 100) {
    const auto drained = pair.host.drain(out);
    if (!drained) break;
    for (std::size_t i = 0; i < *drained; ++i) {
      if (out[i].report.slice_id == expected) ++expected;
    }
    std::this_thread::yield();
  }
  reporting.join();
  CHECK(expected == kRingSlots + 100);
}

TEST_CASE("a sleeping worker is rung once per sleep, a waking one not at all", "[ipc]") {
  ChannelPair pair;
  const Command command = make_command(CommandKind::Slice);
  REQUIRE(pair.host.publish({&command, 1}));
  CHECK_FALSE(readable(pair.worker.doorbell_fd()));
  pair.worker.prepare_to_sleep();
  CHECK(pair.worker.has_commands());  // published before: it must not wait
  for (int i = 0; i < 3; ++i) REQUIRE(pair.host.publish({&command, 1}));
  CHECK(rings(pair.worker.doorbell_fd()) == 1);
  pair.worker.woken();
  REQUIRE(pair.host.publish({&command, 1}));
  CHECK(rings(pair.worker.doorbell_fd()) == 0);
  pair.worker.prepare_to_sleep();
  REQUIRE(pair.host.publish({&command, 1}));
  CHECK(rings(pair.worker.doorbell_fd()) == 1);
}

TEST_CASE("who prepares to sleep again without having said that it woke is rung again", "[ipc]") {
  ChannelPair pair;
  const Command command = make_command(CommandKind::Slice);
  for (int sleep = 0; sleep < 3; ++sleep) {
    pair.worker.prepare_to_sleep();
    REQUIRE(pair.host.publish({&command, 1}));
    CHECK(rings(pair.worker.doorbell_fd()) == 1);
  }
}

TEST_CASE("a sleeping host is rung by a report, and silence takes the ring back", "[ipc]") {
  ChannelPair pair;
  pair.host.prepare_to_sleep();
  CHECK_FALSE(pair.host.has_reports());
  REQUIRE(pair.worker.report(make_report(ReportKind::Ready)));
  CHECK(readable(pair.host.doorbell_fd()));
  pair.host.woken();
  CHECK_FALSE(readable(pair.host.doorbell_fd()));
  CHECK(pair.host.has_reports());
}

TEST_CASE("a doorbell whose counter is full neither blocks nor fails", "[ipc]") {
  ChannelPair pair;
  REQUIRE(::eventfd_write(pair.host.doorbell_fd(), UINT64_MAX - 1) == 0);
  pair.host.prepare_to_sleep();
  REQUIRE(pair.worker.report(make_report(ReportKind::Ready)));
  CHECK(readable(pair.host.doorbell_fd()));
}

TEST_CASE("a channel goes on after it was moved", "[ipc]") {
  ChannelPair pair;
  HostChannel host = std::move(pair.host);
  WorkerChannel worker = std::move(pair.worker);
  const Command command = make_command(CommandKind::Slice, 8);
  REQUIRE(host.publish({&command, 1}));
  std::array<Command, 1> read;
  REQUIRE(*worker.read(read) == 1);
  REQUIRE(worker.report(make_report(ReportKind::Done, 8)));
  std::array<ReceivedReport, 1> out;
  CHECK(*host.drain(out) == 1);
}

TEST_CASE("the pulse tells which plugin of the chain was called last, counted from 1", "[ipc]") {
  ChannelPair pair;
  CHECK(pair.host.pulse().plugin_place == 0);
  pair.worker.pulse().call_into(2);
  pair.worker.pulse().enter(Phase::Process, 9, 1000);
  CHECK(pair.host.pulse().plugin_place == 3);
  pair.worker.pulse().call_into(0);
  CHECK(pair.host.pulse().plugin_place == 1);
}

TEST_CASE("the pulse tells phase, slice, offset and the plugin's own position", "[ipc]") {
  ChannelPair pair;
  pair.worker.pulse().enter(Phase::Put, 9, 1000);
  *pair.worker.pulse().position_word() = 12;
  Pulse pulse = pair.host.pulse();
  CHECK(pulse.slice_id == 9);
  CHECK(pulse.offset == 1000);
  CHECK(pulse.position == 12);
  CHECK(pulse.deadline_extended_ns == 0);
  pair.worker.pulse().keep_alive();
  pair.worker.pulse().enter(Phase::Flush);
  pulse = pair.host.pulse();
  CHECK(pulse.phase == Phase::Flush);
  CHECK(pulse.slice_id == 9);
  CHECK(pulse.deadline_extended_ns > 0);
  pair.worker.pulse().enter(Phase::Put, 10, 2000);
  CHECK(pair.host.pulse().position == 0);
}

TEST_CASE("a worker sees when the host's loop turned last", "[ipc]") {
  ChannelPair pair;
  CHECK(pair.worker.host_beat_ns() == 0);
  pair.host.beat();
  CHECK(pair.worker.host_beat_ns() > 0);
}

}  // namespace sluice::ipc::test
