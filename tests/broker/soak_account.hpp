// The books of a soak: what came in, what a job put out, what its gap ledger names (slicer.md R4),
// and what is wrong with them. Pure; every sentence it returns is one fault, with its offsets.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/state/rows.hpp"
#include "integration/host/ledger.hpp"

namespace sluice::tests {

using Place = std::pair<std::int32_t, std::int64_t>;  ///< partition, offset

struct SoakInput {
  std::vector<std::int64_t> ends;     ///< of each partition's log, which began at 0
  std::vector<std::int64_t> deleted;  ///< below it records of the partition may have been deleted
  std::set<Place> letters;            ///< what lies in the job's dead letter topic
};

/// Output and gap ledger together are the input; an expired range was really deleted; a dead
/// lettered one is one record, which lies in the dead letter topic and was not put out.
std::vector<std::string> faults_of_account(const SoakInput& input,
                                           const std::vector<test::LedgerLine>& lines,
                                           const std::vector<state::GapRow>& gaps);

/// Of a job whose workers never died: nothing twice, and each partition in order.
std::vector<std::string> faults_of_order(const std::vector<test::LedgerLine>& lines);

/// Without those that the gap ledger names, too: put out by a worker that died before it could say
/// so, and gone from Kafka before another could put them out again.
std::vector<test::LedgerLine> outside_gaps(std::vector<test::LedgerLine> lines,
                                           const std::vector<state::GapRow>& gaps);

}  // namespace sluice::tests
