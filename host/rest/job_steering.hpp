// The endpoints that change a job: restart, pause, resume, stop, recover, the number of workers, a
// reset of offsets. Each answers when what was asked for is durable, with the job's state then; a
// drain or a recovery goes on after the answer, and status tells how far it is.
//
// Loop thread. Must outlive the router's server, as JobApi.
#pragma once

#include <string>

#include "host/job/host.hpp"
#include "host/rest/http.hpp"

namespace sluice::rest {

class JobSteering {
 public:
  explicit JobSteering(job::Host& host) : host_{host} {}

  void steer(const std::string& job, job::Host::Steering what, Answer answer);
  void recover(const Request& request, const std::string& job, Answer answer);
  void reset_offsets(const Request& request, const std::string& job, Answer answer);
  void set_workers(const Request& request, const std::string& job, const Answer& answer);

 private:
  Response state_of(const std::string& job) const;

  job::Host& host_;
};

}  // namespace sluice::rest
