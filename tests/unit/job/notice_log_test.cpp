#include "host/job/notice_log.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace sluice::job {
namespace {

struct Written {
  ManualClock clock;
  std::vector<std::string> lines;
  log::Logger log{clock, {}, [this](std::string_view line) {
                    lines.emplace_back(line);
                    return true;
                  }};
};

// What ManualClock says at first.
const std::string kTime = "2023-11-14T22:13:20.000Z ";

supervisor::Lost killed_in_put() {
  supervisor::Lost lost{.slot = 2, .incarnation = 5, .accusation = {}, .pid = 77};
  lost.accusation.cause = slicer::LossCause::Killed;
  lost.accusation.phase = ipc::Phase::Put;
  lost.accusation.slice_id = 9;
  lost.accusation.text = "SIGKILL, not from us";
  return lost;
}

}  // namespace

// Case B15: status and log name worker, slice, signal or limit and restart count.
TEST_CASE("a lost worker is told in one line, with cause, phase, pid, slice and restart", "[job]") {
  Written written;
  supervisor::SlotStatus status;
  status.restarts = 3;
  status.respawn_at = Milliseconds{1'400};
  state::SliceRow slice;
  slice.id = 9;
  slice.topic = "orders";
  slice.partition = 1;
  slice.start = 100;
  slice.end = 200;
  log_lost(written.log.with_worker(2), killed_in_put(), status, slice, Milliseconds{1'000});
  REQUIRE(written.lines.size() == 1);
  CHECK(written.lines[0] ==
        kTime + "warning worker is gone: SIGKILL, not from us; cause killed, phase put, pid 77, "
                "slice orders-1 [100, 200), restart 4 in 400 ms worker=2 slice=9\n");
}

TEST_CASE("a lost worker that had nothing in hand and does not come back is told so", "[job]") {
  Written written;
  log_lost(written.log, killed_in_put(), {}, std::nullopt, Milliseconds{1'000});
  REQUIRE(written.lines.size() == 1);
  CHECK(written.lines[0] == kTime + "warning worker is gone: SIGKILL, not from us; cause killed, "
                                    "phase put, pid 77, restarts 0\n");
}

// Case B17: the slicer refuses it (tests/unit/slicer/reports_test.cpp).
TEST_CASE("a late report of an old owner is logged, once a minute", "[job]") {
  Written written;
  slicer::Notice notice;
  notice.kind = slicer::Notice::Kind::StaleReport;
  notice.tp = {0, 3};
  log_notice(written.log, {"orders"}, notice);
  log_notice(written.log, {"orders"}, notice);
  REQUIRE(written.lines.size() == 1);
  CHECK(written.lines[0] == kTime + "info orders-3: a late report of an old owner was ignored\n");
}

}  // namespace sluice::job
