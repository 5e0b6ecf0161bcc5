#include "host/rest/job_steering.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "host/rest/body_reader.hpp"
#include "host/rest/job_json.hpp"
#include "host/rest/row_json.hpp"

namespace sluice::rest {
namespace json = boost::json;

namespace {

constexpr std::size_t kSlicesShownMax = 1'000;
constexpr std::int64_t kTasksMax = 1'000;  ///< of tasks.max

Response ok(const json::object& body) {
  Response response;
  response.body = json::serialize(body);
  return response;
}

Result<job::RecoverRequest> recover_request(const std::string& body) {
  using Slices = job::RecoverRequest::Slices;
  BodyReader reader{body};
  job::RecoverRequest request;
  if (const auto execution =
          reader.number("execution", 1, std::numeric_limits<std::int64_t>::max())) {
    request.execution = static_cast<std::uint64_t>(*execution);
  }
  if (const auto slices = reader.text("slices")) {
    if (*slices == "pending") {
      request.slices = Slices::Pending;
    } else if (*slices == "all") {
      request.slices = Slices::All;
    } else if (*slices != "parked") {
      reader.refuse("slices", "must be parked, pending or all");
    }
  }
  request.dry_run = reader.yes_or_no("dry_run").value_or(false);
  // Nothing built yet needs it: keyed state and single-writer sinks will ask for it (S6).
  static_cast<void>(reader.yes_or_no("accept_reorder"));
  SLUICE_TRY(reader.finish());
  return request;
}

}  // namespace

Response JobSteering::state_of(const std::string& job) const {
  return ok(summary_json(*host_.status(job)));
}

void JobSteering::steer(const std::string& job, job::Host::Steering what, Answer answer) {
  host_.steer(job, what, [this, job, answer = std::move(answer)](const Result<>& done) {
    answer(done ? state_of(job) : error_response(done.error()));
  });
}

void JobSteering::recover(const Request& request, const std::string& job, Answer answer) {
  const auto wanted = recover_request(request.body);
  if (!wanted) return answer(error_response(wanted.error()));
  host_.recover(job, *wanted,
                [dry_run = wanted->dry_run,
                 answer = std::move(answer)](const Result<job::RecoverAnswer>& found) {
                  if (!found) return answer(error_response(found.error()));
                  json::array slices;
                  for (const auto& slice : found->slices) {
                    if (slices.size() == kSlicesShownMax) break;
                    slices.push_back(json_of(slice));
                  }
                  answer(ok({{"dry_run", dry_run},
                             {"slice_count", found->slices.size()},
                             {"records_max", found->records_max},
                             {"slices", std::move(slices)}}));
                });
}

void JobSteering::reset_offsets(const Request& request, const std::string& job, Answer answer) {
  BodyReader reader{request.body};
  const auto from = reader.text("from");
  if (!from) reader.refuse("from", "must be frontier, group, earliest, latest or a time");
  if (const auto fine = reader.finish(); !fine) return answer(error_response(fine.error()));
  host_.reset_offsets(job, *from, [this, job, from, answer = std::move(answer)](const auto& done) {
    if (!done) return answer(error_response(done.error()));
    const auto state = job::job_state_name(host_.status(job)->state);
    answer(ok({{"name", job}, {"state", state}, {"start_from", *from}}));
  });
}

void JobSteering::set_workers(const Request& request, const std::string& job,
                              const Answer& answer) {
  BodyReader reader{request.body};
  const auto tasks = reader.number("tasks_max", 1, kTasksMax);
  if (!tasks) reader.refuse("tasks_max", "must be given");
  if (const auto fine = reader.finish(); !fine) return answer(error_response(fine.error()));
  const auto done = host_.set_tasks(job, static_cast<std::uint32_t>(*tasks));
  if (!done) return answer(error_response(done.error()));
  answer(ok({{"workers", workers_json(*host_.status(job))}}));
}

}  // namespace sluice::rest
