// Looking into the store beside the writer: status, `sluice job slices`, gaps, audit. A read-only
// connection; in WAL mode it never holds up the writer, and every answer is one page, so that a
// reader never pins the log for long.
//
// One thread at a time. Errors as in state_store.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/base/error.hpp"
#include "host/state/audit.hpp"
#include "host/state/rows.hpp"

namespace sluice::state {

struct SliceQuery {
  std::optional<std::uint64_t> execution{};
  std::optional<SliceState> state{};
  std::optional<std::string> topic{};
  std::optional<std::int32_t> partition{};
  std::optional<std::uint64_t> before{};  ///< the last id of the page before; nothing: the newest
  std::uint32_t rows_max = 1'000;         ///< at most kPageRowsMax
};

struct GapQuery {
  std::optional<std::uint64_t> execution{};
  std::optional<Cause> cause{};
  std::optional<std::string> topic{};
  std::optional<std::int32_t> partition{};
  std::optional<std::uint64_t> before{};  ///< GapPage::last of the page before; nothing: the newest
  std::uint32_t rows_max = 1'000;
};

struct GapPage {
  std::vector<GapRow> gaps;
  std::uint64_t last = 0;  ///< `before` of the next page, if this one was full
};

constexpr std::uint32_t kPageRowsMax = 10'000;

/// Rows that stand for trouble, of all executions; and the ledger's, of the newest one. What a
/// reset had done again is none any more: of older slices those count that recover lists.
struct TroubleCounts {
  std::uint64_t failed = 0;  ///< retrying, halted or isolating
  std::uint64_t parked = 0;
  std::uint64_t dead_lettered = 0;
  std::uint64_t skipped = 0;
  std::uint64_t gaps = 0;
};

class StoreReader {
 public:
  virtual ~StoreReader() = default;

  virtual Result<std::vector<std::string>> jobs() = 0;
  /// Newest first.
  virtual Result<std::vector<ExecutionRow>> executions(std::string_view job,
                                                       std::uint32_t rows_max) = 0;
  virtual Result<std::vector<PartitionRow>> partitions(std::string_view job) = 0;
  /// By id, newest first.
  virtual Result<std::vector<SliceRow>> slices(std::string_view job, const SliceQuery& query) = 0;
  /// Last recorded first.
  virtual Result<GapPage> gaps(std::string_view job, const GapQuery& query) = 0;
  virtual Result<TroubleCounts> trouble(std::string_view job) = 0;
  /// What audit() judges, of one moment. All of it at once: retention bounds the completed rows.
  /// NotFound: the job has never run.
  virtual Result<AuditRows> audit_rows(std::string_view job) = 0;
};

/// A store that does not exist, or is not ours, is an error.
Result<std::unique_ptr<StoreReader>> open_store_reader(const std::filesystem::path& directory);

}  // namespace sluice::state
