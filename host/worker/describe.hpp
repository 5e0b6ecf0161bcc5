// `sluice-worker --describe FILE` and `--validate`: what a plugin file says about itself and about
// settings, asked for in a process of its own, so that the host never loads a plugin (sdk.md, hot
// swap 6). A file that crashes in a static initialiser or in validate() kills only this process;
// the caller sees the signal. The documents' members: README.md.
#pragma once

#include <string>
#include <string_view>

#include "host/base/error.hpp"
#include "host/worker/plugin_settings.hpp"

namespace sluice::worker {

/// One JSON object. Loads the file.
Result<std::string> describe_file(const std::string& file);

/// The object for a module that is loaded already.
std::string describe_module(const PluginModule& module, const std::string& file,
                            std::string_view sha256);

/// `request` is the document on stdin; the answer is {"errors": [...]}, empty when all is well. An
/// Error only for a request that cannot be understood: a file that cannot be loaded is an answer.
Result<std::string> validate_request(std::string_view request, const ResolveText& resolve);

}  // namespace sluice::worker
