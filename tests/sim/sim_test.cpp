// Thousands of worlds, each from one seed. A failing one names the command that tells its story.
//   SLUICE_FULL=1     the long run: five times as many fixed seeds
//   SLUICE_SEEDS=TEXT another 500 seeds, derived from TEXT (a commit, a date)
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

#include "sim/world.hpp"
#include "unit/full_scale.hpp"

namespace sluice::sim {
namespace {

constexpr std::uint64_t kFixedSeeds = 2'000;
constexpr std::uint64_t kFullSeeds = 10'000;
constexpr std::uint64_t kDerivedSeeds = 500;

/// FNV-1a: the same seeds on every machine.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325ULL;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01B3ULL;
  }
  return hash;
}

void holds(std::uint64_t seed) {
  const Verdict verdict = run_seed(seed, Lines::Dropped);
  if (!verdict.failure) return;
  FAIL_CHECK(*verdict.failure << "\n  replay: " << SLUICE_BIN_DIR << "/sim_replay " << seed);
}

/// A quarter of the fixed seeds, so that ctest can use the cores.
void quarter_holds(std::uint64_t quarter) {
  const std::uint64_t count = full_scale() ? kFullSeeds : kFixedSeeds;
  for (std::uint64_t seed = quarter * count / 4; seed < (quarter + 1) * count / 4; ++seed) {
    holds(seed);
  }
}

}  // namespace

TEST_CASE("fixed seeds hold, first quarter", "[sim]") {
  quarter_holds(0);
}
TEST_CASE("fixed seeds hold, second quarter", "[sim]") {
  quarter_holds(1);
}
TEST_CASE("fixed seeds hold, third quarter", "[sim]") {
  quarter_holds(2);
}
TEST_CASE("fixed seeds hold, fourth quarter", "[sim]") {
  quarter_holds(3);
}

TEST_CASE("seeds derived from a text hold", "[sim]") {
  const char* text = std::getenv("SLUICE_SEEDS");
  const std::uint64_t first = hash_of(text != nullptr ? text : "sluice");
  for (std::uint64_t i = 0; i < kDerivedSeeds; ++i) holds(first + i);
}

TEST_CASE("one seed is one story: two runs of it are equal", "[sim]") {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    const Verdict first = run_seed(seed, Lines::Dropped);
    const Verdict second = run_seed(seed, Lines::Dropped);
    CHECK(first.events == second.events);
    CHECK(first.deliveries == second.deliveries);
    CHECK(first.duplicates == second.duplicates);
    CHECK(first.processes == second.processes);
  }
}

TEST_CASE("the worlds are troubled enough: hosts die, workers die, records come twice", "[sim]") {
  std::uint64_t hosts = 0;
  std::uint64_t processes = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t duplicates = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Verdict verdict = run_seed(seed, Lines::Dropped);
    hosts += verdict.hosts;
    processes += verdict.processes;
    deliveries += verdict.deliveries;
    duplicates += verdict.duplicates;
  }
  CHECK(hosts > 250);
  CHECK(processes > 1'000);
  CHECK(deliveries > 50'000);
  CHECK(duplicates > 500);
}

}  // namespace sluice::sim
