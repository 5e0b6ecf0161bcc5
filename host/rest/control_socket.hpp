// The control socket of a running host: the unix sockets of rest.listen, with the router and its
// endpoints behind them. `sluice job` talks to it.
//
// Made and destroyed on the loop's thread, beside the Host and before it goes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/base/error.hpp"
#include "host/job/host.hpp"
#include "host/log/logger.hpp"

namespace sluice::rest {

class ControlSocket {
 public:
  /// `addresses` as in rest.listen. Refused: a living host answers there. Requires: `host` outlives
  /// it.
  static Result<std::unique_ptr<ControlSocket>> open(job::Host& host,
                                                     const std::vector<std::string>& addresses,
                                                     const log::Logger& log);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  struct Parts;
  explicit ControlSocket(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::rest
