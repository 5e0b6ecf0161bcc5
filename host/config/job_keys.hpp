// The one table of a job's keys: Sluice's own and Kafka Connect's (interfaces.md). It drives the
// check, the reference (keys.md), the samples in etc/ and the "did you mean". Rows whose name holds
// `*` or NAME stand for many keys: they are documentation, and load.cpp has their code.
#pragma once

#include <span>
#include <string_view>

#include "host/config/job_config.hpp"
#include "host/config/key_spec.hpp"

namespace sluice::config {

std::span<const BoundKey<JobConfig>> job_keys();

constexpr bool is_pattern(std::string_view name) {
  return name.find('*') != std::string_view::npos || name.find("NAME") != std::string_view::npos;
}

/// In the table, or begins as the host's keys do. All other keys are the sink's.
bool is_host_key(std::string_view key);
/// In the table as it stands.
bool is_known(std::string_view key);
/// One of Connect's keys that make sense for source connectors only.
bool is_of_source_connectors(std::string_view key);

}  // namespace sluice::config
