// The fixture language of these tests: a text in, a JobConfig or its problems out, the problems as
// the lines that a user sees. A test names only what it is about: kJobHead is the rest of a valid
// job. Line numbers of added lines begin at 4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/config/load.hpp"

namespace sluice::config {

/// The beginning that every valid job has; three lines.
inline const std::string kJobHead =
    "name = \"orders-archive\"\ntopics = [\"orders\"]\nconnector.class = \"file\"\n";

inline std::vector<std::string> lines_of(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems.list()) lines.push_back(problems.line(problem));
  return lines;
}

/// Problems of a text that stands alone.
inline std::vector<std::string> problems_in(std::string_view text, Format format = Format::Toml) {
  const auto job = parse_job(text, format, "f");
  return job ? std::vector<std::string>{} : lines_of(job.error());
}

/// Problems of lines added to a valid job: their line numbers begin at 4.
inline std::vector<std::string> problems_after_head(const std::string& lines) {
  return problems_in(kJobHead + lines);
}

/// A valid job, with lines added.
inline JobConfig job_with(const std::string& lines) {
  return parse_job(kJobHead + lines, Format::Toml, "f").value();
}

/// What the effective configuration says; "<absent>" if it says nothing.
inline std::string effective(const JobConfig& job, std::string_view key) {
  for (const auto& [name, value] : job.effective) {
    if (name == key) return value;
  }
  return "<absent>";
}

using Lines = std::vector<std::string>;

}  // namespace sluice::config
