// HTTP/1.1 on the host's loop, over Boost.Beast. It bounds everything a caller can make large: the
// header, the body, the time for a request and for its answer, the number of connections. One
// request of a connection is served at a time; the next is read when it is answered, so there is no
// queue. When all connections are taken, the one that has been silent longest makes room.
//
// Loop thread. Reads no file and waits for nobody: a handler that does not answer in its time is
// answered for with 503. Beast is included by http_server.cpp alone (30 CPU seconds a file).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/log/logger.hpp"
#include "host/rest/router.hpp"
#include "ipc/owned_fd.hpp"

namespace boost::asio {
class io_context;
}

namespace sluice::rest {

struct HttpLimits {
  std::uint32_t header_bytes_max = 8 * 1024;
  std::uint64_t body_bytes_max = 1024 * 1024;
  std::size_t connections_max = 256;
  /// From a connection's start, or its last answer, to the last byte of the next request.
  std::chrono::milliseconds request_time{30'000};
  std::chrono::milliseconds write_time{10'000};
  /// What a refused caller goes on sending is read for so long, and so far: a connection that ends
  /// with bytes unread is reset, and the answer lost.
  std::chrono::milliseconds linger_time{5'000};
  std::uint64_t linger_bytes_max = 16 * 1024 * 1024;
};

class HttpServer {
 public:
  /// `router` must outlive the server.
  HttpServer(boost::asio::io_context& context, const Router& router, const HttpLimits& limits,
             log::Logger log);
  /// Closes everything; handlers that have not answered yet answer to nobody.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Requires: a listening AF_UNIX stream socket.
  void serve(ipc::OwnedFd unix_listener);

  struct Shared;  ///< what connections have in common; in the .cpp

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace sluice::rest
