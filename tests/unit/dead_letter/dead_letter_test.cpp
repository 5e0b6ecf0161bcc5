// B09 and B14: what a dead letter is made of.
#include "host/dead_letter/dead_letter.hpp"

#include <catch2/catch.hpp>

namespace sluice::dead_letter {
namespace {

using Texts = std::vector<std::string>;

sluice_bytes bytes(std::string_view text) {
  return {text.data(), text.size()};
}

std::string text_of(const sluice_bytes& at) {
  if (at.data == nullptr) return "(null)";
  return {static_cast<const char*>(at.data), at.size};
}

Texts headers_of(const DeadLetter& letter) {
  Texts texts;
  for (const auto& header : letter.record().headers) {
    texts.push_back(text_of(header.name) + "=" + text_of(header.value));
  }
  return texts;
}

sluice_record record_of(std::string_view key, std::string_view value) {
  sluice_record record{};
  record.key = bytes(key);
  record.value = bytes(value);
  record.offset = 150;
  record.partition = 3;
  record.timestamp_ms = 1'700'000'000'000;
  return record;
}

const Origin kOrigin{"archive", 2, "orders"};
const Cause kBad{std::string{kStagePut}, "fault", "put", "not wanted", std::nullopt};

}  // namespace

TEST_CASE("a dead letter has Connect's headers, in Connect's order", "[dead_letter]") {
  const DeadLetter letter{record_of("k", "v"), kOrigin, kBad, Context::Full};
  CHECK(headers_of(letter) ==
        Texts{"__connect.errors.topic=orders", "__connect.errors.partition=3",
              "__connect.errors.offset=150", "__connect.errors.connector.name=archive",
              "__connect.errors.task.id=2", "__connect.errors.stage=TASK_PUT",
              "__connect.errors.class.name=fault",
              "__connect.errors.exception.class.name=RecordFailed",
              "__connect.errors.exception.message=not wanted",
              "__connect.errors.exception.stacktrace=RecordFailed: not wanted\n\tat fault.put"});
  CHECK(letter.record().timestamp_ms == 1'700'000'000'000);
  CHECK(letter.record().partition == kafka::kAnyPartition);
}

TEST_CASE("a dead letter without context is the original record and nothing else",
          "[dead_letter]") {
  const std::string key("\xff\x00\xfe", 3);
  const DeadLetter letter{record_of(key, "a\nb"), kOrigin, kBad, Context::None};
  CHECK(text_of(letter.record().key) == key);
  CHECK(text_of(letter.record().value) == "a\nb");
  CHECK(letter.record().headers.empty());
}

TEST_CASE("the record's own headers come first, with repeats, nulls, and names of the host's",
          "[dead_letter]") {
  sluice_record record = record_of("", "v");
  const std::vector<sluice_header> own{{bytes("h"), bytes("1")},
                                       {bytes("h"), bytes("2")},
                                       {bytes("null"), {nullptr, 0}},
                                       {bytes("empty"), bytes("")},
                                       {bytes("__connect.errors.topic"), bytes("mine")}};
  record.headers = own.data();
  record.header_count = static_cast<std::uint32_t>(own.size());
  const DeadLetter letter{record, kOrigin, kBad, Context::Full};
  const Texts headers = headers_of(letter);
  REQUIRE(headers.size() == 15);
  CHECK(Texts{headers.begin(), headers.begin() + 6} ==
        Texts{"h=1", "h=2", "null=(null)", "empty=", "__connect.errors.topic=mine",
              "__connect.errors.topic=orders"});
}

TEST_CASE("null and empty stay different for key and value", "[dead_letter]") {
  sluice_record record = record_of("", "");
  const DeadLetter empty{record, kOrigin, kBad, Context::Full};
  CHECK(text_of(empty.record().key).empty());
  CHECK(text_of(empty.record().value).empty());
  record.key = record.value = {nullptr, 0};
  const DeadLetter null{record, kOrigin, kBad, Context::Full};
  CHECK(null.record().key.data == nullptr);
  CHECK(null.record().value.data == nullptr);
}

TEST_CASE("an error without a text makes headers that are empty, not null", "[dead_letter]") {
  Cause cause = kBad;
  cause.why.clear();
  cause.plugin.clear();
  cause.call.clear();
  const DeadLetter letter{record_of("k", "v"), kOrigin, cause, Context::Full};
  const Texts headers = headers_of(letter);
  CHECK(headers[6] == "__connect.errors.class.name=");
  CHECK(headers[8] == "__connect.errors.exception.message=");
}

TEST_CASE("brief context lacks message and trace alone", "[dead_letter]") {
  const DeadLetter letter{record_of("k", "v"), kOrigin, kBad, Context::Brief};
  const Texts headers = headers_of(letter);
  REQUIRE(headers.size() == 8);
  CHECK(headers.back() == "__connect.errors.exception.class.name=RecordFailed");
}

TEST_CASE("what killed its worker names worker, signal and plugin digest after Connect's headers",
          "[dead_letter]") {
  const std::string digest(64, 'a');
  Cause cause{std::string{kStageCrash}, "fault", "", "SIGSEGV in put",
              WorkerDeath{"1 pid 4711", 11, digest}};
  const DeadLetter crash{record_of("k", "v"), kOrigin, cause, Context::Full};
  const Texts headers = headers_of(crash);
  REQUIRE(headers.size() == 13);
  CHECK(headers[5] == "__connect.errors.stage=CRASH");
  CHECK(headers[7] == "__connect.errors.exception.class.name=WorkerCrashed");
  CHECK(headers[10] == "__sluice.errors.worker=1 pid 4711");
  CHECK(headers[11] == "__sluice.errors.signal=11");
  CHECK(headers[12] == "__sluice.errors.plugin.sha256=" + digest);
  cause.stage = kStageHang;
  const DeadLetter hang{record_of("k", "v"), kOrigin, cause, Context::Full};
  CHECK(headers_of(hang)[7] == "__connect.errors.exception.class.name=WorkerHung");
}

TEST_CASE("a death in nobody knows which plugin names none, and has no digest", "[dead_letter]") {
  const Cause cause{std::string{kStageCrash}, "", "", "SIGSEGV in process",
                    WorkerDeath{"1 pid 4711", 11, ""}};
  const DeadLetter letter{record_of("k", "v"), kOrigin, cause, Context::Full};
  const Texts headers = headers_of(letter);
  REQUIRE(headers.size() == 12);
  CHECK(headers[6] == "__connect.errors.class.name=");
  CHECK(headers[9] == "__connect.errors.exception.stacktrace=WorkerCrashed: SIGSEGV in process");
  CHECK(headers.back() == "__sluice.errors.signal=11");
}

TEST_CASE("a record without a timestamp gets the time of its letter", "[dead_letter]") {
  sluice_record record = record_of("k", "v");
  record.timestamp_ms = -1;
  const DeadLetter letter{record, kOrigin, kBad, Context::None};
  CHECK(letter.record().timestamp_ms == kafka::kTimestampNow);
}

}  // namespace sluice::dead_letter
