#include "host/job/start_position.hpp"

#include <catch2/catch.hpp>

namespace sluice::job {
namespace {

StartQuestion question() {
  StartQuestion q;
  q.job = "archive";
  q.partition_name = "orders-3";
  q.store_id = "store-a";
  q.low = 10;
  q.end = 100;
  return q;
}

std::int64_t offset_of(const StartQuestion& q) {
  const auto decision = decide_start(q);
  if (const auto* refusal = std::get_if<Refusal>(&decision)) FAIL(refusal->sentence);
  return std::get<StartAt>(decision).offset;
}

std::string refusal_of(const StartQuestion& q) {
  const auto decision = decide_start(q);
  REQUIRE(std::holds_alternative<Refusal>(decision));
  return std::get<Refusal>(decision).sentence;
}

}  // namespace

TEST_CASE("a new job starts where the reset policy says (S2)", "[job]") {
  auto q = question();
  CHECK(offset_of(q) == 10);
  q.reset = ResetPolicy::Latest;
  CHECK(offset_of(q) == 100);
  q.reset = ResetPolicy::None;
  CHECK(refusal_of(q) ==
        "job archive: cannot start orders-3: nothing is stored or committed for it and "
        "auto.offset.reset is none; choose with `sluice job offsets archive --from "
        "earliest|latest` (or `sluice run ... --from`)");
}

TEST_CASE("a partition that appears later starts at its beginning, also under latest (S2)",
          "[job]") {
  auto q = question();
  q.reset = ResetPolicy::Latest;
  q.appeared = StartQuestion::Appeared::Later;
  CHECK(offset_of(q) == 10);
}

TEST_CASE("the frontier wins over the group's offset and the policy", "[job]") {
  auto q = question();
  q.frontier = 50;
  q.group = GroupOffset{40, commit_metadata("store-a", 1)};
  CHECK(offset_of(q) == 50);
}

TEST_CASE("a Kafka Connect group without our metadata is where a migrated job starts (S4)",
          "[job]") {
  auto q = question();
  q.group = GroupOffset{77, ""};
  CHECK(offset_of(q) == 77);
}

TEST_CASE("a group offset moved by a tool is warned about and does not move the frontier (S4)",
          "[job]") {
  auto q = question();
  q.frontier = 50;
  q.group = GroupOffset{20, "by hand"};
  const auto at = std::get<StartAt>(decide_start(q));
  CHECK(at.offset == 50);
  CHECK(at.warning.find("moved by another tool") != std::string::npos);
  q.from = StartFrom{StartFrom::Kind::Group, 0};
  CHECK(offset_of(q) == 20);
}

TEST_CASE("a group ahead of its own store's frontier means a restored backup: refused (S4)",
          "[job]") {
  auto q = question();
  q.frontier = 50;
  q.group = GroupOffset{60, commit_metadata("store-a", 3)};
  CHECK(refusal_of(q).find("restored from a backup") != std::string::npos);
}

TEST_CASE("a group that is ahead because the frontier was lowered is no contradiction (F5)",
          "[job]") {
  auto q = question();
  q.frontier = 50;
  q.lowered_from = 60;
  q.group = GroupOffset{60, commit_metadata("store-a", 3)};
  CHECK(offset_of(q) == 50);
  q.group = GroupOffset{61, commit_metadata("store-a", 3)};
  CHECK(refusal_of(q).find("restored from a backup") != std::string::npos);
}

TEST_CASE("a partition whose row is of an earlier topic starts at its beginning (F5)", "[job]") {
  auto q = question();
  q.recreated = true;
  q.reset = ResetPolicy::Latest;
  q.group = GroupOffset{60, commit_metadata("store-a", 3)};
  CHECK(offset_of(q) == 10);
  q.from = StartFrom{StartFrom::Kind::Latest, 0};
  CHECK(offset_of(q) == 100);
}

TEST_CASE("a group written by another store is refused as foreign (S4, S7)", "[job]") {
  auto q = question();
  q.group = GroupOffset{60, commit_metadata("store-b", 3)};
  for (const bool with_frontier : {false, true}) {
    if (with_frontier) q.frontier = 60;
    const auto decision = decide_start(q);
    REQUIRE(std::holds_alternative<Refusal>(decision));
    CHECK(std::get<Refusal>(decision).code == ErrorCode::StoreForeign);
  }
}

TEST_CASE("a store that lost its frontier does not start at the beginning (S7)", "[job]") {
  auto q = question();
  q.group = GroupOffset{60, commit_metadata("store-a", 3)};
  CHECK(refusal_of(q).find("has no frontier any more") != std::string::npos);
}

TEST_CASE("the option --from is taken at its word, and refused where it names what does not exist",
          "[job]") {
  auto q = question();
  q.from = StartFrom{StartFrom::Kind::Latest, 0};
  CHECK(offset_of(q) == 100);
  q.from = StartFrom{StartFrom::Kind::Group, 0};
  CHECK(refusal_of(q).find("has no committed offset") != std::string::npos);
  q.from = StartFrom{StartFrom::Kind::Frontier, 0};
  CHECK(refusal_of(q).find("has no frontier") != std::string::npos);
}

TEST_CASE("the option --from takes words, milliseconds and RFC 3339, nothing else", "[job]") {
  CHECK(parse_start_from("group").value().kind == StartFrom::Kind::Group);
  CHECK(parse_start_from("1700000000000").value().timestamp_ms == 1700000000000);
  CHECK(parse_start_from("1970-01-01T00:00:01Z").value().timestamp_ms == 1000);
  for (const char* bad : {"", "-1", "oldest", "2026-01-01", "99999999999999999999"}) {
    CHECK(parse_start_from(bad).has_error());
  }
}

TEST_CASE("a time before 1970 is no start position, and no day is taken for another one (B22)",
          "[job]") {
  for (const char* bad : {"1960-01-01T00:00:00Z", "1970-01-01T00:00:00+01:00",
                          "2026-02-31T12:00:00Z", "2026-01-31T12:00:61Z"}) {
    CAPTURE(bad);
    CHECK(parse_start_from(bad).has_error());
  }
  // As slicer.start.timestamp takes them.
  CHECK(parse_start_from("1970-01-01T01:00:01.5+01:00").value().timestamp_ms == 1500);
}

TEST_CASE("the store id comes back out of the metadata that we commit", "[job]") {
  CHECK(store_id_of(commit_metadata("6f1c", 12)) == "6f1c");
  CHECK_FALSE(store_id_of("sluice/2 6f1c 12"));
  CHECK_FALSE(store_id_of("sluice/1 "));
  CHECK_FALSE(store_id_of(""));
}

}  // namespace sluice::job
