#include "host/job/recovery.hpp"

#include <algorithm>
#include <utility>

namespace sluice::job {
namespace {

bool is_meant(const RecoverRequest& request, const state::SliceRow& row) {
  if (request.execution && row.execution != *request.execution) return false;
  const bool parked = row.state == state::SliceState::Parked;
  switch (request.slices) {
    case RecoverRequest::Slices::Parked:
      return parked;
    case RecoverRequest::Slices::Pending:
      return !parked;
    case RecoverRequest::Slices::All:
      return true;
  }
  return false;
}

}  // namespace

RecoverAnswer select_slices(const RecoverRequest& request, std::vector<state::SliceRow> rows,
                            const std::vector<std::string>& topics) {
  RecoverAnswer answer;
  for (state::SliceRow& row : rows) {
    const bool is_read = std::find(topics.begin(), topics.end(), row.topic) != topics.end();
    if (!is_read || !is_meant(request, row)) continue;
    answer.records_max += static_cast<std::uint64_t>(row.end - row.start);
    answer.slices.push_back(std::move(row));
  }
  return answer;
}

}  // namespace sluice::job
