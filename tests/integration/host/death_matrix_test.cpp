// A17: {SIGKILL, SIGSEGV, abort, exit(0), exit(1), out of memory by the host's limit and by
// std::bad_alloc, stack overflow, endless loop, blocked call, SIGSTOP, deadlock, a call that is
// stuck beside a living thread} x {idle, put, flush, start, stop}. SLUICE_FULL=1 runs all cells,
// else a third.
#include <catch2/catch.hpp>

#include "integration/host/death_matrix.hpp"

namespace sluice::test {

TEST_CASE("whatever ends or holds up a worker in put is named, and its slice comes again (A17)",
          "[matrix]") {
  DeathMatrix matrix{When::Put};
  matrix.produce(41, DeathMatrix::Records::Poisoned);
  matrix.start();
  matrix.require_all_delivered();
  matrix.require_all_told();
  matrix.require_all_in_status();
  matrix.require_neighbours_undisturbed();
  matrix.stop();
}

TEST_CASE("whatever ends or holds up a worker in flush is named, and its slices come again (A17)",
          "[matrix]") {
  DeathMatrix matrix{When::Flush};
  matrix.produce(41);
  matrix.start();
  matrix.require_all_delivered();
  matrix.require_all_told();
  matrix.require_all_in_status();
  matrix.require_neighbours_undisturbed();
  matrix.stop();
}

TEST_CASE("whatever ends or holds up a worker that starts is named, and it starts again (A17)",
          "[matrix]") {
  DeathMatrix matrix{When::Start};
  matrix.produce(41);
  matrix.start();
  matrix.require_all_delivered();
  matrix.require_all_told();
  matrix.require_all_in_status();
  matrix.require_nothing_twice();
  matrix.stop();
}

TEST_CASE(
    "whatever ends or holds up an idle worker is named when it matters, and costs nothing"
    " (A17)",
    "[matrix]") {
  DeathMatrix matrix{When::Idle};
  matrix.produce(41);
  matrix.start();
  matrix.require_all_delivered();
  // A worker that dies without work in hand is replaced at once; one that is held up is noticed
  // when work comes.
  matrix.require_idle_faults_met();
  matrix.produce(41);
  matrix.require_all_delivered();
  matrix.require_all_told();
  matrix.require_all_in_status();
  matrix.require_nothing_twice();
  matrix.stop();
}

TEST_CASE(
    "whatever ends or holds up a worker that stops is named, the host ends in time, and the"
    " next one goes on (A17)",
    "[matrix]") {
  DeathMatrix matrix{When::Stop};
  matrix.produce(41);
  matrix.start();
  matrix.require_all_delivered();
  matrix.stop();
  matrix.require_all_told();
  matrix.produce(41);
  matrix.start();
  matrix.require_all_delivered();
  matrix.require_nothing_twice();
  matrix.stop();
}

}  // namespace sluice::test
