// Sluice's own endpoints, `/sluice/v1/jobs...` (interfaces.md, "REST"): what the command line's
// `sluice job` uses. Status comes from the loop and is always there; rows come from the store, in
// pages, and status is answered without them when the store is slow.
//
// Loop thread. Adds routes that refer to it: it must outlive the server.
#pragma once

#include <functional>
#include <string>

#include "host/job/host.hpp"
#include "host/rest/job_steering.hpp"
#include "host/rest/router.hpp"
#include "host/rest/store_queries.hpp"

namespace sluice::rest {

class JobApi {
 public:
  JobApi(job::Host& host, StoreQueries& queries)
      : host_{host}, queries_{queries}, steering_{host} {}

  void add_routes(Router& router);

 private:
  /// One job, known to the host.
  using JobHandler = std::function<void(const Request&, const std::string& job, Answer)>;

  void add(Router& router, Method method, std::string_view pattern, JobHandler handler,
           std::chrono::milliseconds within = kAnswerWithin);
  void add_steering(Router& router);
  void list(const Answer& answer) const;
  void show(const std::string& job, Answer answer);
  void slices(const Request& request, const std::string& job, Answer answer);
  void gaps(const Request& request, const std::string& job, Answer answer);
  void audit(const std::string& job, Answer answer);
  void executions(const Request& request, const std::string& job, Answer answer);
  Response unknown(const std::string& job) const;

  job::Host& host_;
  StoreQueries& queries_;
  JobSteering steering_;
};

}  // namespace sluice::rest
