#include "host/rest/http_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::rest {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::local::stream_protocol;
using boost::system::error_code;

namespace {

/// After an accept that failed for want of descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};
/// Of what nobody will look at.
constexpr std::size_t kDiscardBytes = 16 * 1024;

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::Get;
    case http::verb::post:
      return Method::Post;
    case http::verb::put:
      return Method::Put;
    case http::verb::patch:
      return Method::Patch;
    case http::verb::delete_:
      return Method::Delete;
    default:
      return Method::Other;
  }
}

/// What the parser's refusal deserves; nothing where the peer is just gone.
std::optional<Response> refusal_for(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return error_response(431, "the request's header is too large");
  }
  if (error == http::error::body_limit)
    return error_response(413, "the request's body is too large");
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return std::nullopt;
  }
  if (error.category() != make_error_code(http::error::bad_value).category()) return std::nullopt;
  return error_response(400, "not an HTTP request: " + error.message());
}

class Session;

}  // namespace

struct HttpServer::Shared : std::enable_shared_from_this<HttpServer::Shared> {
  Shared(asio::io_context& io, const Router& table, const HttpLimits& bounds, log::Logger logger)
      : context{io}, router{table}, limits{bounds}, log{std::move(logger)} {}

  void accept(const std::shared_ptr<stream_protocol::acceptor>& acceptor);
  void accepted(stream_protocol::socket socket);
  bool make_room();
  void close();

  asio::io_context& context;
  const Router& router;
  HttpLimits limits;
  log::Logger log;
  std::vector<std::shared_ptr<stream_protocol::acceptor>> acceptors;
  std::list<std::shared_ptr<Session>> sessions;  ///< the longest silent first
  bool closed = false;
};

namespace {

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Place = std::list<std::shared_ptr<Session>>::iterator;

  Session(stream_protocol::socket socket, HttpServer::Shared& shared)
      : stream_{std::move(socket)}, deadline_{shared.context}, shared_{shared.weak_from_this()} {}

  bool reading() const { return reading_; }

  void start(Place place) {
    place_ = place;
    read();
  }

  /// Says why, and ends.
  void refuse(Response response) {
    keep_alive_ = false;
    write(std::move(response));
  }

  void close() {
    error_code ignored;
    stream_.socket().close(ignored);
    deadline_.cancel();
    const auto shared = shared_.lock();
    if (shared && place_) shared->sessions.erase(*std::exchange(place_, std::nullopt));
  }

 private:
  void read() {
    const auto shared = shared_.lock();
    if (!shared) return close();
    reading_ = true;
    parser_.emplace();
    parser_->header_limit(shared->limits.header_bytes_max);
    parser_->body_limit(shared->limits.body_bytes_max);
    stream_.expires_after(shared->limits.request_time);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       self->reading_ = false;
                       error ? self->refused(error) : self->serve();
                     });
  }

  void refused(const error_code& error) {
    auto response = refusal_for(error);
    lingers_ = response.has_value();
    response ? refuse(*std::move(response)) : close();
  }

  void serve() {
    const auto shared = shared_.lock();
    if (!shared) return close();
    auto& parsed = parser_->get();
    keep_alive_ = parsed.keep_alive();
    auto target = parse_target({parsed.target().data(), parsed.target().size()});
    if (!target) return write(error_response(target.error()));
    Request request{method_of(parsed.method()), *std::move(target), std::move(parsed.body())};
    const auto found = shared->router.find(request.method, request.target.parts);
    if (const auto* refusal = std::get_if<Response>(&found)) return write(*refusal);
    const auto& match = std::get<Router::Match>(found);
    const auto number = ++served_;
    deadline_.expires_after(match.within);
    deadline_.async_wait([weak = weak_from_this(), number](const error_code& error) {
      const auto self = weak.lock();
      if (!self || error) return;
      self->answer(number, error_response(503,
                                          "no answer in time: the host or its state store is "
                                          "busy; try again"));
    });
    (*match.handler)(request, match.parameters, [weak = weak_from_this(), number](Response given) {
      if (const auto self = weak.lock()) self->answer(number, std::move(given));
    });
  }

  /// Only the first answer of a request counts.
  void answer(std::uint64_t number, Response response) {
    if (number != served_ || answered_ == number) return;
    answered_ = number;
    deadline_.cancel();
    write(std::move(response));
  }

  void write(Response response) {
    const auto shared = shared_.lock();
    if (!shared) return close();
    response_.emplace();
    response_->version(11);
    response_->result(static_cast<unsigned>(response.status));
    response_->keep_alive(keep_alive_);
    if (!response.allow.empty()) response_->set(http::field::allow, response.allow);
    if (!response.body.empty()) response_->set(http::field::content_type, "application/json");
    response_->body() = std::move(response.body);
    response_->prepare_payload();
    stream_.expires_after(shared->limits.write_time);
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                        self->response_.reset();
                        if (error) return self->close();
                        if (self->keep_alive_) return self->again();
                        self->lingers_ ? self->linger() : self->close();
                      });
  }

  /// The answer is out, and nothing else will come. Reads until the peer ends, or has to.
  void linger() {
    const auto shared = shared_.lock();
    if (!shared) return close();
    error_code ignored;
    stream_.socket().shutdown(stream_protocol::socket::shutdown_send, ignored);
    stream_.expires_after(shared->limits.linger_time);
    linger_bytes_ = shared->limits.linger_bytes_max;
    reading_ = true;  // makes room for others like any silent one
    buffer_.clear();
    discard();
  }

  void discard() {
    stream_.async_read_some(buffer_.prepare(kDiscardBytes),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                              if (error || size > self->linger_bytes_) return self->close();
                              self->linger_bytes_ -= size;
                              self->discard();
                            });
  }

  void again() {
    const auto shared = shared_.lock();
    if (shared && place_) {
      shared->sessions.splice(shared->sessions.end(), shared->sessions, *place_);
    }
    read();
  }

  beast::basic_stream<stream_protocol> stream_;
  asio::steady_timer deadline_;
  std::weak_ptr<HttpServer::Shared> shared_;
  std::optional<Place> place_;
  beast::flat_buffer buffer_{64 * 1024};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::uint64_t served_ = 0;
  std::uint64_t answered_ = 0;
  bool reading_ = false;
  bool keep_alive_ = false;
  bool lingers_ = false;
  std::uint64_t linger_bytes_ = 0;
};

}  // namespace

void HttpServer::Shared::accept(const std::shared_ptr<stream_protocol::acceptor>& acceptor) {
  acceptor->async_accept(
      [weak = weak_from_this(), acceptor](const error_code& error, stream_protocol::socket socket) {
        const auto shared = weak.lock();
        if (!shared || shared->closed || error == asio::error::operation_aborted) return;
        if (!error) {
          shared->accepted(std::move(socket));
          return shared->accept(acceptor);
        }
        shared->log.limited(log::Level::Warning, "rest.accept", "rest: accept: " + error.message());
        auto pause = std::make_shared<asio::steady_timer>(shared->context, kAcceptPause);
        pause->async_wait([weak, acceptor, pause](const error_code&) {
          const auto alive = weak.lock();
          if (alive && !alive->closed) alive->accept(acceptor);
        });
      });
}

void HttpServer::Shared::accepted(stream_protocol::socket socket) {
  auto session = std::make_shared<Session>(std::move(socket), *this);
  if (sessions.size() >= limits.connections_max && !make_room()) {
    return session->refuse(error_response(503, "too many connections; try again"));
  }
  sessions.push_back(session);
  session->start(std::prev(sessions.end()));
}

/// Whoever has been asking for nothing longest.
bool HttpServer::Shared::make_room() {
  for (const auto& session : sessions) {
    if (!session->reading()) continue;
    const auto silent = session;  // close() takes it out of the list
    silent->close();
    return true;
  }
  return false;
}

void HttpServer::Shared::close() {
  closed = true;
  for (const auto& acceptor : acceptors) {
    error_code ignored;
    acceptor->close(ignored);
  }
  while (!sessions.empty()) {
    const auto session = sessions.front();
    session->close();
  }
}

HttpServer::HttpServer(asio::io_context& context, const Router& router, const HttpLimits& limits,
                       log::Logger log)
    : shared_{std::make_shared<Shared>(context, router, limits, std::move(log))} {}

HttpServer::~HttpServer() {
  shared_->close();
}

void HttpServer::serve(ipc::OwnedFd unix_listener) {
  auto acceptor = std::make_shared<stream_protocol::acceptor>(shared_->context);
  acceptor->assign(stream_protocol{}, unix_listener.release());
  shared_->acceptors.push_back(acceptor);
  shared_->accept(acceptor);
}

}  // namespace sluice::rest
