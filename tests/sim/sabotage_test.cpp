// Every checker can fail: the world is broken on purpose, one rule at a time, until the checker of
// that rule speaks up. The same seeds hold without the sabotage (sim_test.cpp).
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "sim/world.hpp"

namespace sluice::sim {
namespace {

/// How often each rule was the first to be found broken, over `seeds` worlds.
std::map<std::string, int> broken_rules(Sabotage sabotage, std::uint64_t seeds = 150) {
  std::map<std::string, int> rules;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    Scenario scenario = scenario_of(seed);
    scenario.sabotage = sabotage;
    if (sabotage == Sabotage::BlameKills) {  // many kills, and one is enough
      scenario.troubles.kill_one_in_s = 2;
      scenario.slicer.attempts_max = 1;
      scenario.put_us = 2'000;
    }
    if (sabotage == Sabotage::ForgetOpenRows) {
      scenario.slicer.stable_slices = true;
      scenario.troubles.host_crash_one_in_s = 2;
    }
    if (sabotage == Sabotage::FlushProbe || sabotage == Sabotage::PutCulprits) {
      scenario.slicer.stable_slices = true;
      scenario.slicer.on_failure = slicer::OnFailure::Isolate;
    }
    const Verdict verdict = World{scenario, Lines::Dropped}.run();
    if (!verdict.failure) continue;
    ++rules[verdict.failure->substr(0, verdict.failure->find(':'))];
  }
  return rules;
}

}  // namespace

TEST_CASE("a record that is reported done and was never put is noticed", "[sim]") {
  auto rules = broken_rules(Sabotage::SkipRecord);
  CHECK(rules["nothing lost"] + rules["order"] > 20);
}

TEST_CASE("a worker that runs a lane backwards is noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::ReverseLane)["order"] > 20);
}

TEST_CASE("moving slices before the reap is noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::ReleaseBeforeReap)["one owner"] > 3);
}

TEST_CASE("rows that stay after they were merged are noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::ForgetDeletes)["settled once"] > 3);
}

TEST_CASE("a store that applies an old change set over a new one is noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::StaleWrite)["frontier"] > 20);
}

TEST_CASE("a group commit of what is not durable is noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::CommitEarly)["group commit"] > 20);
}

TEST_CASE("more in flight than the credit is noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::IgnoreCredit)["credit"] > 20);
}

TEST_CASE("moves without a reason are noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::MoveAtWill)["fewest moves"] > 20);
}

TEST_CASE("stable slices that come with other ranges are noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::ForgetOpenRows)["stable slices"] > 5);
}

TEST_CASE("a probe whose records reach the sink is noticed (F3.4)", "[sim]") {
  CHECK(broken_rules(Sabotage::FlushProbe)["stable slices"] > 5);
}

TEST_CASE("a slice that is said to be without its culprits and is not is noticed (F3.4)", "[sim]") {
  CHECK(broken_rules(Sabotage::PutCulprits)["stable slices"] > 5);
}

TEST_CASE("with linear, partitions that stay away from home are noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::StayAway, 300)["families come home"] > 5);
}

TEST_CASE("records that pay for deaths from outside are noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::BlameKills, 600)["only the guilty"] > 3);
}

TEST_CASE("an honest worker that is killed for breaking a rule is noticed", "[sim]") {
  CHECK(broken_rules(Sabotage::ExceedEnd)["honest workers live"] > 20);
}

TEST_CASE("a topic that was recreated and is taken for the old one is noticed", "[sim]") {
  auto rules = broken_rules(Sabotage::BlindComparison, 600);
  CHECK(rules["nothing lost"] + rules["everything settles"] > 3);
}

TEST_CASE("a report that is lost on the way is noticed", "[sim]") {
  // Such a world runs to the end of its time: the dearest of all.
  auto rules = broken_rules(Sabotage::LoseReport, 6);
  CHECK(rules["everything settles"] + rules["honest workers live"] + rules["one owner"] > 3);
}

TEST_CASE("duplicates in a world without troubles are noticed", "[sim]") {
  int noticed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Scenario scenario = scenario_of(seed);
    if (!scenario.quiet()) continue;
    scenario.sabotage = Sabotage::DeliverTwice;
    const Verdict verdict = World{scenario, Lines::Dropped}.run();
    if (verdict.failure && verdict.failure->starts_with("exactly once")) ++noticed;
  }
  CHECK(noticed > 10);
}

}  // namespace sluice::sim
