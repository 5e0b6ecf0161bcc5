// One run of observed_host as a test sees it: the process, and what it has said so far.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "integration/host/program.hpp"

namespace sluice::test {

struct ObservedOptions {
  std::vector<std::filesystem::path> jobs;
  std::string bootstrap_servers;
  std::filesystem::path state_dir;
  std::filesystem::path output;  ///< a prefix: .out, .err, .events
  std::string kill_at;           ///< a point of observed_host, or none
  std::int64_t after_reports = 0;
};

/// Open descriptors, threads, mappings, and those of them that are shared with workers, or plugins.
struct Census {
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
  std::int64_t mappings = 0;
  std::int64_t segments = 0;
  std::int64_t plugins = 0;
};

class ObservedRun {
 public:
  explicit ObservedRun(const ObservedOptions& options);

  Program& program() { return program_; }
  /// Every event of this kind so far: ready, lost, done, beat, census.
  std::vector<boost::json::object> events(std::string_view kind) const;
  /// Its own count, taken now.
  Census census();

 private:
  std::filesystem::path events_;
  Program program_;
};

std::int64_t number_of(const boost::json::object& event, std::string_view field);

}  // namespace sluice::test
