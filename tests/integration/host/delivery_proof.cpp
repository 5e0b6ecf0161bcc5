#include "integration/host/delivery_proof.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>

#include "host/state/store_reader.hpp"

namespace sluice::test {
namespace {

constexpr int kTimeoutMs = 30'000;

template <typename T>
T value_of(Result<T> result) {
  if (!result) FAIL(result.error().message());
  return *std::move(result);
}

std::vector<state::SliceRow> completed_rows(state::StoreReader& store, const std::string& job) {
  std::vector<state::SliceRow> all;
  state::SliceQuery query;
  query.state = state::SliceState::Completed;
  query.rows_max = state::kPageRowsMax;
  for (;;) {
    auto page = value_of(store.slices(job, query));
    for (auto& row : page) all.push_back(std::move(row));
    if (page.size() < query.rows_max) return all;
    query.before = all.back().id;
  }
}

/// The completed row over each range, by partition and start.
class Settlers {
 public:
  explicit Settlers(std::vector<state::SliceRow> rows) {
    for (auto& row : rows) rows_[{row.partition, row.start}] = std::move(row);
  }
  /// Null: no completed row covers it.
  const state::SliceRow* of(std::int32_t partition, std::int64_t offset) const {
    auto after = rows_.upper_bound({partition, offset});
    if (after == rows_.begin()) return nullptr;
    const auto& row = std::prev(after)->second;
    return row.partition == partition && offset < row.end ? &row : nullptr;
  }

 private:
  std::map<std::pair<std::int32_t, std::int64_t>, state::SliceRow> rows_;
};

std::string text_of(const LedgerLine& line) {
  return line.topic + "-" + std::to_string(line.partition) + "@" + std::to_string(line.offset) +
         " by pid " + std::to_string(line.pid) + " in slice " + std::to_string(line.slice);
}

}  // namespace

Frontiers stored_frontiers(const std::filesystem::path& state_dir, const std::string& job) {
  const auto store = value_of(state::open_store_reader(state_dir));
  Frontiers frontiers;
  for (const auto& row : value_of(store->partitions(job))) frontiers[row.partition] = row.frontier;
  return frontiers;
}

std::vector<state::GapRow> stored_gaps(const std::filesystem::path& state_dir,
                                       const std::string& job) {
  const auto store = value_of(state::open_store_reader(state_dir));
  return value_of(store->gaps(job, {})).gaps;
}

void require_order_of_durability(kafka::HostClient& kafka, const std::filesystem::path& state_dir,
                                 const std::string& job, const std::string& topic, int partitions,
                                 const std::filesystem::path& ledger) {
  std::vector<kafka::TopicPartition> where;
  for (int partition = 0; partition < partitions; ++partition) where.push_back({topic, partition});
  const auto group = value_of(kafka.committed("connect-" + job, where, kTimeoutMs));
  auto frontiers = stored_frontiers(state_dir, job);
  std::map<std::int32_t, std::set<std::int64_t>> delivered;
  for (const auto& line : read_ledger(ledger)) delivered[line.partition].insert(line.offset);
  for (const auto& committed : group) {
    INFO(topic << "-" << committed.where.partition);
    CHECK(committed.offset.value_or(0) <= frontiers[committed.where.partition]);
  }
  for (const auto& [partition, frontier] : frontiers) {
    INFO(topic << "-" << partition << ": frontier " << frontier);
    const auto& offsets = delivered[partition];
    CHECK(std::distance(offsets.begin(), offsets.lower_bound(frontier)) == frontier);
  }
}

Redelivered require_only_interrupted_slices_again(const std::filesystem::path& state_dir,
                                                  const std::string& job,
                                                  const std::vector<LedgerLine>& lines,
                                                  const std::set<std::int64_t>& killed) {
  const auto store = value_of(state::open_store_reader(state_dir));
  const Settlers settlers{completed_rows(*store, job)};
  std::map<std::pair<std::int32_t, std::int64_t>, const LedgerLine*> last;
  std::set<std::pair<std::int32_t, std::int64_t>> again;
  std::set<std::pair<std::int64_t, std::uint64_t>> interrupted;
  for (const auto& line : lines) {
    const LedgerLine*& latest = last[{line.partition, line.offset}];
    if (latest != nullptr) {
      if (!killed.contains(latest->pid)) {
        FAIL(text_of(line) << " again, although " << text_of(*latest) << " was not killed");
      }
      again.insert({line.partition, line.offset});
      interrupted.insert({latest->pid, latest->slice});
    }
    latest = &line;
  }
  for (const auto& [where, line] : last) {
    const auto* row = settlers.of(where.first, where.second);
    if (row == nullptr) FAIL(text_of(*line) << ": no completed slice covers it");
    if (row->worker.pid != line->pid) {
      FAIL(text_of(*line) << " was the last, but pid " << row->worker.pid << " settled it");
    }
  }
  return {again.size(), interrupted.size()};
}

}  // namespace sluice::test
