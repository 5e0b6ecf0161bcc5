#include "host/job/recovery.hpp"

#include <catch2/catch.hpp>

namespace sluice::job {
namespace {

state::SliceRow row(std::uint64_t id, std::uint64_t execution, state::SliceState state,
                    const std::string& topic = "orders") {
  state::SliceRow made;
  made.id = id;
  made.execution = execution;
  made.topic = topic;
  made.start = static_cast<std::int64_t>(id) * 10;
  made.end = made.start + 10;
  made.state = state;
  return made;
}

std::vector<std::uint64_t> selected(const RecoverRequest& request) {
  using state::SliceState;
  const auto answer =
      select_slices(request,
                    {row(1, 1, SliceState::Parked), row(2, 2, SliceState::Parked),
                     row(3, 2, SliceState::Retrying), row(4, 2, SliceState::Parked, "gone")},
                    {"orders"});
  CHECK(answer.records_max == answer.slices.size() * 10);
  std::vector<std::uint64_t> ids;
  for (const auto& slice : answer.slices) ids.push_back(slice.id);
  return ids;
}

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("recover means parked slices of all executions unless it is told otherwise (S6)",
          "[job]") {
  CHECK(selected({}) == Ids{1, 2});
  CHECK(selected({.execution = 2, .slices = RecoverRequest::Slices::Parked, .dry_run = true}) ==
        Ids{2});
  CHECK(selected({.execution = {}, .slices = RecoverRequest::Slices::Pending, .dry_run = false}) ==
        Ids{3});
  CHECK(selected({.execution = {}, .slices = RecoverRequest::Slices::All, .dry_run = false}) ==
        Ids{1, 2, 3});
}

TEST_CASE("a topic that the job does not read any more is left alone by recover", "[job]") {
  CHECK(
      select_slices({}, {row(4, 1, state::SliceState::Parked, "gone")}, {"orders"}).slices.empty());
}

}  // namespace sluice::job
