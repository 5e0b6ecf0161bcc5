// The state store as witness: whether what a ledger holds agrees with what the host claims. Exact,
// not a bound: every completed slice row names the worker that settled it (slicer.md R1), so a
// record that was delivered twice can be traced to a slice that its first worker never settled.
//
// Reads the store through a connection of its own, so the host may run meanwhile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "host/kafka/admin.hpp"
#include "host/state/rows.hpp"
#include "integration/host/ledger.hpp"

namespace sluice::test {

/// By partition.
using Frontiers = std::map<std::int32_t, std::int64_t>;

/// What the store says; empty before the job is in it.
Frontiers stored_frontiers(const std::filesystem::path& state_dir, const std::string& job);
std::vector<state::GapRow> stored_gaps(const std::filesystem::path& state_dir,
                                       const std::string& job);

/// The order of delivery.md D2, seen from outside at any moment: the group's committed offset is
/// not above the stored frontier, and every offset below that was delivered. `partitions`: how many
/// `topic` has; its offsets begin at 0. Looks in the order group, store, ledger: all only grow.
void require_order_of_durability(kafka::HostClient& kafka, const std::filesystem::path& state_dir,
                                 const std::string& job, const std::string& topic, int partitions,
                                 const std::filesystem::path& ledger);

struct Redelivered {
  std::size_t records = 0;  ///< delivered more than once
  std::size_t slices = 0;   ///< that were interrupted, by (worker, slice)
};

/// Every offset of every partition: the worker of the row that covers it is the one that delivered
/// it last, and whoever delivered it before was killed before it could settle it. `killed`: pids of
/// workers that were killed, or whose host was. Fails the test otherwise.
Redelivered require_only_interrupted_slices_again(const std::filesystem::path& state_dir,
                                                  const std::string& job,
                                                  const std::vector<LedgerLine>& lines,
                                                  const std::set<std::int64_t>& killed);

}  // namespace sluice::test
