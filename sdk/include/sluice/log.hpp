// Lines for the job's log: log().warning("disk is 95 % full"). May be called from any thread
// between construction and destruction. The host adds time, job, worker, slice and plugin, and
// drops and counts what comes too fast. stdout and stderr end there too, but without a level.
#pragma once

#include <sluice/abi.h>

#include <cstdio>
#include <string_view>

namespace sluice {

class Log {
 public:
  explicit Log(const sluice_host* host) : host_{host} {}

  void debug(std::string_view text) const { write(SLUICE_LOG_DEBUG, text); }
  void info(std::string_view text) const { write(SLUICE_LOG_INFO, text); }
  void warning(std::string_view text) const { write(SLUICE_LOG_WARNING, text); }
  void error(std::string_view text) const { write(SLUICE_LOG_ERROR, text); }

 private:
  void write(sluice_log_level level, std::string_view text) const {
    if (host_ != nullptr) {
      host_->log(host_, level, {text.data(), text.size()});
    } else {  // in a constructor that does not hand on its Start: the worker logs stderr line by
              // line
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    }
  }

  const sluice_host* host_;
};

}  // namespace sluice
