#include "host/rest/control_socket.hpp"

#include <utility>

#include "host/rest/http_server.hpp"
#include "host/rest/job_api.hpp"
#include "host/rest/router.hpp"
#include "host/rest/store_queries.hpp"
#include "host/rest/unix_listener.hpp"

namespace sluice::rest {

// In the order in which they need each other: the server goes first.
struct ControlSocket::Parts {
  Parts(job::Host& host, const log::Logger& log)
      : queries{host.state_dir(), host.loop()},
        jobs{host, queries},
        server{host.loop().context(), router, HttpLimits{}, log} {
    jobs.add_routes(router);
  }

  std::vector<UnixListener> listeners;
  Router router;
  StoreQueries queries;
  JobApi jobs;
  HttpServer server;
};

Result<std::unique_ptr<ControlSocket>> ControlSocket::open(
    job::Host& host, const std::vector<std::string>& addresses, const log::Logger& log) {
  auto parts = std::make_unique<Parts>(host, log);
  for (const auto& address : addresses) {
    const auto path = unix_path_of(address);
    if (!path) return path.error();
    auto listener = UnixListener::open(*path);
    if (!listener) return listener.error();
    parts->server.serve(listener->take_descriptor());
    parts->listeners.push_back(*std::move(listener));
    log.info("control socket is " + path->string());
  }
  return std::unique_ptr<ControlSocket>{new ControlSocket{std::move(parts)}};
}

ControlSocket::ControlSocket(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}
ControlSocket::~ControlSocket() = default;

}  // namespace sluice::rest
