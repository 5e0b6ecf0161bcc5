// One run of the simulator, told line by line: time, who, partition, slice, what.
//   sim_replay SEED        exits 1 and ends with the broken rule if there is one
#include <cstdio>
#include <cstdlib>

#include "sim/world.hpp"

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s SEED\n", words[0]);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a run that aborts has told its story
  const auto seed = std::strtoull(words[1], nullptr, 10);
  const sluice::sim::Verdict verdict = sluice::sim::run_seed(seed, sluice::sim::Lines::Printed);
  std::printf("seed %llu: %s; %llu events, %llu delivered (%llu twice), %llu hosts, %llu workers\n",
              static_cast<unsigned long long>(seed),
              verdict.failure ? verdict.failure->c_str() : "holds",
              static_cast<unsigned long long>(verdict.events),
              static_cast<unsigned long long>(verdict.deliveries),
              static_cast<unsigned long long>(verdict.duplicates),
              static_cast<unsigned long long>(verdict.hosts),
              static_cast<unsigned long long>(verdict.processes));
  return verdict.failure ? 1 : 0;
}
