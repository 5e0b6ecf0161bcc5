#include "host/rest/job_api.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "host/base/nearest_name.hpp"
#include "host/rest/job_json.hpp"
#include "host/rest/query_reader.hpp"
#include "host/rest/row_json.hpp"

namespace sluice::rest {
namespace json = boost::json;

namespace {

constexpr std::int64_t kRowsMax = 1'000;
constexpr std::int64_t kRowsDefault = 100;
/// How long a status waits for the store's part of it.
constexpr Milliseconds kStorePatience{500};
/// The one answer that reads a whole execution: retention bounds its completed rows, but what was
/// parked is never folded.
constexpr std::chrono::seconds kAuditWithin{30};
constexpr std::size_t kFindingsMax = 1'000;

Response ok(const json::object& body) {
  Response response;
  response.body = json::serialize(body);
  return response;
}

template <typename Rows>
json::array array_of(const Rows& rows) {
  json::array array;
  for (const auto& row : rows) array.push_back(json_of(row));
  return array;
}

template <typename Unsigned>
std::optional<Unsigned> unsigned_of(const std::optional<std::int64_t>& number) {
  return number ? std::optional{static_cast<Unsigned>(*number)} : std::nullopt;
}

std::optional<std::uint64_t> id_in(QueryReader& query, const std::string& key) {
  return unsigned_of<std::uint64_t>(query.number(key, 0, std::numeric_limits<std::int64_t>::max()));
}

std::uint32_t limit_in(QueryReader& query) {
  return static_cast<std::uint32_t>(query.number("limit", 1, kRowsMax).value_or(kRowsDefault));
}

/// Slice and gap queries have these in common.
template <typename Query>
void read_common(QueryReader& query, Query& into) {
  into.execution = id_in(query, "execution");
  into.topic = query.text("topic");
  into.partition = unsigned_of<std::int32_t>(
      query.number("partition", 0, std::numeric_limits<std::int32_t>::max()));
  into.before = id_in(query, "before");
  into.rows_max = limit_in(query);
}

/// A status that waits for what the store adds to it, but not for long. Answers once.
struct PendingStatus {
  json::object body;
  Answer answer;
  std::unique_ptr<job::EventLoop::Watch> patience;

  void send() {
    if (!answer) return;
    std::exchange(answer, nullptr)(ok(body));
  }
};

}  // namespace

void JobApi::add(Router& router, Method method, std::string_view pattern, JobHandler handler,
                 std::chrono::milliseconds within) {
  router.add(
      method, pattern,
      [this, handler = std::move(handler)](const Request& request, const PathParameters& parameters,
                                           Answer answer) {
        const auto& job = parameters.at("name");
        const auto names = host_.job_names();
        if (std::find(names.begin(), names.end(), job) == names.end()) return answer(unknown(job));
        handler(request, job, std::move(answer));
      },
      within);
}

void JobApi::add_routes(Router& router) {
  add_steering(router);
  router.add(Method::Get, "/sluice/v1/jobs",
             [this](const Request&, const PathParameters&, const Answer& answer) { list(answer); });
  add(router, Method::Get, "/sluice/v1/jobs/{name}",
      [this](const Request&, const std::string& job, Answer answer) {
        show(job, std::move(answer));
      });
  add(router, Method::Get, "/sluice/v1/jobs/{name}/workers",
      [this](const Request&, const std::string& job, const Answer& answer) {
        answer(ok({{"workers", workers_json(*host_.status(job))}}));
      });
  add(router, Method::Get, "/sluice/v1/jobs/{name}/offsets",
      [this](const Request&, const std::string& job, const Answer& answer) {
        answer(ok({{"partitions", offsets_json(*host_.status(job))}}));
      });
  add(router, Method::Get, "/sluice/v1/jobs/{name}/slices",
      [this](const Request& request, const std::string& job, Answer answer) {
        slices(request, job, std::move(answer));
      });
  add(router, Method::Get, "/sluice/v1/jobs/{name}/gaps",
      [this](const Request& request, const std::string& job, Answer answer) {
        gaps(request, job, std::move(answer));
      });
  add(
      router, Method::Get, "/sluice/v1/jobs/{name}/audit",
      [this](const Request&, const std::string& job, Answer answer) {
        audit(job, std::move(answer));
      },
      kAuditWithin);
  add(router, Method::Get, "/sluice/v1/jobs/{name}/executions",
      [this](const Request& request, const std::string& job, Answer answer) {
        executions(request, job, std::move(answer));
      });
}

void JobApi::add_steering(Router& router) {
  using Steering = job::Host::Steering;
  const std::pair<const char*, Steering> steerings[] = {{"restart", Steering::Restart},
                                                        {"pause", Steering::Pause},
                                                        {"resume", Steering::Resume},
                                                        {"stop", Steering::Stop}};
  const std::string of_job = "/sluice/v1/jobs/{name}/";
  for (const auto& [name, what] : steerings) {
    add(router, Method::Post, of_job + name,
        [this, what = what](const Request&, const std::string& job, Answer answer) {
          steering_.steer(job, what, std::move(answer));
        });
  }
  add(router, Method::Post, of_job + "recover",
      [this](const Request& request, const std::string& job, Answer answer) {
        steering_.recover(request, job, std::move(answer));
      });
  add(router, Method::Post, of_job + "offsets",
      [this](const Request& request, const std::string& job, Answer answer) {
        steering_.reset_offsets(request, job, std::move(answer));
      });
  add(router, Method::Put, of_job + "workers",
      [this](const Request& request, const std::string& job, const Answer& answer) {
        steering_.set_workers(request, job, answer);
      });
}

Response JobApi::unknown(const std::string& job) const {
  const auto names = host_.job_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto nearest = nearest_name(job, known);
  auto text = "job " + job + ": this host has no such job";
  if (!nearest.empty()) text += "; did you mean " + std::string{nearest} + "?";
  return error_response(404, text);
}

void JobApi::list(const Answer& answer) const {
  json::array jobs;
  for (const auto& status : host_.status()) jobs.push_back(summary_json(status));
  answer(ok({{"jobs", std::move(jobs)}}));
}

void JobApi::show(const std::string& job, Answer answer) {
  auto pending = std::make_shared<PendingStatus>();
  pending->body = status_json(*host_.status(job));
  pending->body["stored"] = nullptr;
  pending->answer = std::move(answer);
  pending->patience = host_.loop().after(kStorePatience, [weak = std::weak_ptr{pending}] {
    const auto status = weak.lock();
    if (!status) return;
    status->body["waiting"].as_array().emplace_back("state store: has not answered yet");
    status->send();
  });
  queries_.ask([job](state::StoreReader& reader) { return reader.trouble(job); },
               [pending](const Result<state::TroubleCounts>& counts) {
                 if (counts) {
                   pending->body["stored"] = json::object{{"failed", counts->failed},
                                                          {"parked", counts->parked},
                                                          {"dead_lettered", counts->dead_lettered},
                                                          {"skipped", counts->skipped},
                                                          {"gaps", counts->gaps}};
                 } else {
                   pending->body["waiting"].as_array().emplace_back(counts.error().message());
                 }
                 pending->send();
               });
}

void JobApi::slices(const Request& request, const std::string& job, Answer answer) {
  QueryReader query{request.target};
  state::SliceQuery wanted;
  read_common(query, wanted);
  if (const auto name = query.text("state")) {
    wanted.state = slice_state_of(*name);
    if (!wanted.state) {
      query.refuse("state",
                   "must be ready, dispatched, completed, retrying, isolating, parked, "
                   "dead_lettered or skipped");
    }
  }
  if (const auto fine = query.finish(); !fine) return answer(error_response(fine.error()));
  queries_.ask(
      [job, wanted](state::StoreReader& reader) { return reader.slices(job, wanted); },
      [wanted, answer = std::move(answer)](const Result<std::vector<state::SliceRow>>& rows) {
        if (!rows) return answer(error_response(rows.error()));
        json::object body{{"slices", array_of(*rows)}};
        if (rows->size() == wanted.rows_max) body["next_before"] = rows->back().id;
        answer(ok(body));
      });
}

void JobApi::gaps(const Request& request, const std::string& job, Answer answer) {
  QueryReader query{request.target};
  state::GapQuery wanted;
  read_common(query, wanted);
  if (const auto fine = query.finish(); !fine) return answer(error_response(fine.error()));
  queries_.ask([job, wanted](state::StoreReader& reader) { return reader.gaps(job, wanted); },
               [wanted, answer = std::move(answer)](const Result<state::GapPage>& page) {
                 if (!page) return answer(error_response(page.error()));
                 json::object body{{"gaps", array_of(page->gaps)}};
                 if (page->gaps.size() == wanted.rows_max) body["next_before"] = page->last;
                 answer(ok(body));
               });
}

void JobApi::audit(const std::string& job, Answer answer) {
  queries_.ask(
      [job](state::StoreReader& reader) -> Result<state::AuditReport> {
        auto rows = reader.audit_rows(job);
        if (!rows) return rows.error();
        return state::audit(*std::move(rows));
      },
      [answer = std::move(answer)](const Result<state::AuditReport>& report) {
        if (!report) return answer(error_response(report.error()));
        json::array findings;
        for (const auto& finding : report->findings) {
          if (findings.size() == kFindingsMax) break;
          findings.push_back(json_of(finding));
        }
        answer(ok({{"holds", report->holds()},
                   {"execution", report->execution},
                   {"lanes", report->lanes},
                   {"offsets", report->offsets},
                   {"records", report->records},
                   {"finding_count", report->findings.size()},
                   {"findings", std::move(findings)}}));
      });
}

void JobApi::executions(const Request& request, const std::string& job, Answer answer) {
  QueryReader query{request.target};
  const auto rows_max = limit_in(query);
  if (const auto fine = query.finish(); !fine) return answer(error_response(fine.error()));
  queries_.ask(
      [job, rows_max](state::StoreReader& reader) { return reader.executions(job, rows_max); },
      [answer = std::move(answer)](const Result<std::vector<state::ExecutionRow>>& rows) {
        if (!rows) return answer(error_response(rows.error()));
        answer(ok({{"executions", array_of(*rows)}}));
      });
}

}  // namespace sluice::rest
