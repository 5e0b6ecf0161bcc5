// What people read about keys, written from the key tables: the reference host/config/keys.md and
// the samples etc/sluice.toml and etc/jobs.d/file.toml. A test compares the files with these texts,
// so a key without documentation cannot be built; `unit_config "[generate]"` writes them anew.
#pragma once

#include <string>

namespace sluice::config {

/// Markdown: one table per group, for jobs and for the host.
std::string key_reference();

/// A job that works as it stands, and every other key as a comment with its default.
std::string job_sample();

/// The same for the host's file.
std::string host_sample();

}  // namespace sluice::config
