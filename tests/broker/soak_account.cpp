#include "broker/soak_account.hpp"

#include <algorithm>
#include <map>

namespace sluice::tests {
namespace {

std::string text_of(Place place) {
  return std::to_string(place.first) + "@" + std::to_string(place.second);
}

std::string text_of(const state::GapRow& gap) {
  return text_of({gap.partition, gap.start}) + ".." + std::to_string(gap.end);
}

/// Which offsets of one partition are accounted for.
using Covered = std::vector<bool>;

void tell_missing(std::int32_t partition, const Covered& covered,
                  std::vector<std::string>& faults) {
  const auto begin = covered.begin();
  for (auto at = std::find(begin, covered.end(), false); at != covered.end();) {
    const auto after = std::find(at, covered.end(), true);
    faults.push_back("lost: " + text_of({partition, at - begin}) + ".." +
                     std::to_string(after - begin));
    at = std::find(after, covered.end(), false);
  }
}

}  // namespace

std::vector<std::string> faults_of_account(const SoakInput& input,
                                           const std::vector<test::LedgerLine>& lines,
                                           const std::vector<state::GapRow>& gaps) {
  std::vector<std::string> faults;
  std::vector<Covered> covered;
  for (const auto end : input.ends) covered.emplace_back(static_cast<std::size_t>(end), false);
  const auto exists = [&](std::int32_t partition, std::int64_t offset) {
    return partition >= 0 && static_cast<std::size_t>(partition) < input.ends.size() &&
           offset >= 0 && offset < input.ends[static_cast<std::size_t>(partition)];
  };
  std::set<Place> put_out;
  for (const auto& line : lines) {
    const Place place{line.partition, line.offset};
    if (!exists(line.partition, line.offset)) {
      faults.push_back("put out, but never came in: " + text_of(place));
      continue;
    }
    put_out.insert(place);
    covered[static_cast<std::size_t>(line.partition)][static_cast<std::size_t>(line.offset)] = true;
  }
  for (const auto& gap : gaps) {
    if (gap.start >= gap.end || !exists(gap.partition, gap.end - 1)) {
      faults.push_back("a gap that is nowhere: " + text_of(gap));
      continue;
    }
    const auto partition = static_cast<std::size_t>(gap.partition);
    const Place place{gap.partition, gap.start};
    if (gap.cause == state::Cause::Expired) {
      if (gap.end > input.deleted[partition]) {
        faults.push_back("expired, but not deleted: " + text_of(gap));
      }
    } else if (gap.cause == state::Cause::DeadLettered) {
      if (gap.end != gap.start + 1) faults.push_back("more than one dead letter: " + text_of(gap));
      if (!input.letters.contains(place)) faults.push_back("no dead letter: " + text_of(place));
      if (put_out.contains(place)) {
        faults.push_back("put out, and a dead letter: " + text_of(place));
      }
    } else {
      faults.push_back("a gap nothing explains: " + text_of(gap) + ": " + gap.detail);
    }
    std::fill(covered[partition].begin() + gap.start, covered[partition].begin() + gap.end, true);
  }
  for (std::size_t partition = 0; partition < covered.size(); ++partition) {
    tell_missing(static_cast<std::int32_t>(partition), covered[partition], faults);
  }
  return faults;
}

std::vector<std::string> faults_of_order(const std::vector<test::LedgerLine>& lines) {
  std::vector<std::string> faults;
  std::map<std::int32_t, std::int64_t> last;
  for (const auto& line : lines) {
    const auto [found, first] = last.try_emplace(line.partition, line.offset);
    if (!first && line.offset <= found->second) {
      faults.push_back(text_of({line.partition, line.offset}) + " after " +
                       std::to_string(found->second));
    }
    found->second = line.offset;
  }
  return faults;
}

std::vector<test::LedgerLine> outside_gaps(std::vector<test::LedgerLine> lines,
                                           const std::vector<state::GapRow>& gaps) {
  std::erase_if(lines, [&](const test::LedgerLine& line) {
    return std::any_of(gaps.begin(), gaps.end(), [&](const state::GapRow& gap) {
      return gap.partition == line.partition && gap.start <= line.offset && line.offset < gap.end;
    });
  });
  return lines;
}

}  // namespace sluice::tests
