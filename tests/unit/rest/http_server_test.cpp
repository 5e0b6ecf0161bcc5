// The server behind a real unix socket, served by a loop on a thread of its own. What callers may
// do to it is bounded; what they do wrong is told.
#include "host/rest/http_server.hpp"

#include <catch2/catch.hpp>
#include <future>
#include <random>
#include <thread>

#include "host/job/event_loop.hpp"
#include "host/rest/unix_listener.hpp"
#include "unit/rest/http_peer.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::rest {
namespace {

using std::chrono::milliseconds;
using test::body_of;
using test::HttpPeer;
using test::status_of;

class Served {
 public:
  explicit Served(const HttpLimits& limits = {}) {
    router_.add(Method::Get, "/hello", [](const Request&, const PathParameters&, const Answer& go) {
      Response response;
      response.body = "\"hello\"";
      go(response);
    });
    router_.add(Method::Post, "/echo",
                [](const Request& request, const PathParameters&, const Answer& go) {
                  Response response;
                  response.body = request.body;
                  go(response);
                  go(error_response(500, "a second answer must go nowhere"));
                });
    router_.add(
        Method::Get, "/never",
        [this](const Request&, const PathParameters&, Answer go) {
          kept_.push_back(std::move(go));
        },
        milliseconds{50});
    listener_.emplace(UnixListener::open(socket()).value());
    server_.emplace(loop_.context(), router_, limits,
                    log::Logger::to_stderr(clock_, log::Level::Error));
    server_->serve(listener_->take_descriptor());
    thread_ = std::thread{[this] { loop_.run(); }};
  }
  ~Served() {
    std::promise<void> closed;
    loop_.post([&] {
      for (const auto& answer : kept_) answer(error_response(500, "too late"));
      server_.reset();
      closed.set_value();
      loop_.stop();
    });
    closed.get_future().wait();
    thread_.join();
  }

  std::filesystem::path socket() const { return folder_.path() / "s.sock"; }
  HttpPeer peer() const { return HttpPeer{socket()}; }

 private:
  TemporaryFolder folder_;
  SystemClock clock_;
  job::EventLoop loop_;
  Router router_;
  std::vector<Answer> kept_;
  std::optional<UnixListener> listener_;
  std::optional<HttpServer> server_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("an answer is JSON whatever bytes the request had", "[rest]") {
  const auto refused = error_response(404, "job \xFF\xFE'\x01: there is no such job");
  CHECK(refused.body ==
        "{\"error_code\":404,\"message\":\"job \xEF\xBF\xBD\xEF\xBF\xBD'"
        "\xEF\xBF\xBD: there is no such job\"}");
}

TEST_CASE("requests of one connection are answered one after the other", "[rest]") {
  const Served served;
  auto peer = served.peer();
  REQUIRE(peer.connected());
  CHECK(body_of(peer.get("/hello")) == "\"hello\"");
  // Both at once: the second waits for its turn.
  peer.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(body_of(peer.answer()) == "abc");
  const auto last = peer.answer();
  CHECK(status_of(last) == "404");
  CHECK(body_of(last) == R"({"error_code":404,"message":"HTTP 404 Not Found"})");
  CHECK(peer.ended());
}

TEST_CASE("what is too large, malformed or not allowed is answered with why", "[rest]") {
  HttpLimits limits;
  limits.header_bytes_max = 1'000;
  limits.body_bytes_max = 100;
  const Served served{limits};
  const auto status = [&](const std::string& bytes) {
    auto peer = served.peer();
    peer.send(bytes);
    return status_of(peer.answer());
  };
  CHECK(status("GET /hello HTTP/1.1\r\nX: " + std::string(2'000, 'x') + "\r\n\r\n") == "431");
  CHECK(status("POST /echo HTTP/1.1\r\nContent-Length: 101\r\n\r\n") == "413");
  CHECK(status("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" +
               std::string(255, 'x') + "\r\n0\r\n\r\n") == "413");
  CHECK(status("\x16\x03\x01 what is this\r\n\r\n") == "400");
  CHECK(status("GET hello HTTP/1.1\r\n\r\n") == "400");
  CHECK(status("GET /%zz HTTP/1.1\r\n\r\n") == "400");
  CHECK(status("BREW /hello HTTP/1.1\r\n\r\n") == "405");
  CHECK(status("GET /hello HTTP/1.1\r\n\r\n") == "200");
}

// Closed with bytes unread, the connection was reset: who was still sending never saw the answer.
TEST_CASE("who sends far too much reads why, and is not cut off", "[rest]") {
  const Served served;
  const std::string large(1'000'000, 'x');
  auto peer = served.peer();
  CHECK(peer.send("GET /hello HTTP/1.1\r\nX: " + large + "\r\n\r\n"));
  CHECK(status_of(peer.answer()) == "431");
  CHECK(peer.ended());
  CHECK_FALSE(peer.was_reset());

  auto other = served.peer();
  CHECK(other.send("POST /echo HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n" + large + large));
  CHECK(status_of(other.answer()) == "413");
  CHECK(other.ended());
  CHECK_FALSE(other.was_reset());
}

TEST_CASE("who goes on sending after a refusal is read for a while, and so far", "[rest]") {
  const std::string refused = "POST /echo HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n";
  const std::string piece(10'000, 'x');
  HttpLimits short_time;
  short_time.linger_time = milliseconds{100};
  short_time.linger_bytes_max = ~std::uint64_t{0};
  HttpLimits few_bytes;
  few_bytes.linger_time = std::chrono::hours{1};
  few_bytes.linger_bytes_max = 100'000;
  for (const auto& limits : {short_time, few_bytes}) {
    const Served served{limits};
    auto peer = served.peer();
    peer.send(refused);
    CHECK(status_of(peer.answer()) == "413");
    while (peer.send(piece)) {  // ctest's timeout is the check
    }
    CHECK(status_of(served.peer().get("/hello")) == "200");
  }
}

TEST_CASE("who is only read to be ended makes room first", "[rest]") {
  HttpLimits limits;
  limits.connections_max = 1;
  limits.linger_time = std::chrono::hours{1};
  const Served served{limits};
  auto refused = served.peer();
  refused.send("POST /echo HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n");
  CHECK(status_of(refused.answer()) == "413");
  CHECK(refused.ended());
  CHECK(status_of(served.peer().get("/hello")) == "200");
}

TEST_CASE("a handler that does not answer is answered for, and its late answer goes nowhere",
          "[rest]") {
  const Served served;
  auto peer = served.peer();
  CHECK(status_of(peer.get("/never")) == "503");
  CHECK(status_of(peer.get("/hello")) == "200");
}

TEST_CASE("a caller that sends slowly is ended, and nobody waits for it", "[rest]") {
  HttpLimits limits;
  limits.request_time = milliseconds{200};
  const Served served{limits};
  auto slow = served.peer();
  REQUIRE(slow.send("GET /hello HT"));
  // On a busy machine any caller may be too slow for that; one of them is not.
  std::string status;
  while (status.empty()) status = status_of(served.peer().get("/hello"));
  CHECK(status == "200");
  CHECK(slow.ended());
}

TEST_CASE("200 connections are served at once", "[rest]") {
  const Served served;
  std::vector<HttpPeer> peers;
  peers.reserve(200);
  for (int i = 0; i < 200; ++i) peers.push_back(served.peer());
  for (auto& peer : peers) peer.send("GET /hello HTTP/1.1\r\n\r\n");
  for (auto& peer : peers) REQUIRE(status_of(peer.answer()) == "200");
}

TEST_CASE("when all connections are taken, the longest silent one makes room", "[rest]") {
  HttpLimits limits;
  limits.connections_max = 2;
  const Served served{limits};
  auto first = served.peer();
  auto second = served.peer();
  CHECK(status_of(first.get("/hello")) == "200");
  CHECK(status_of(second.get("/hello")) == "200");
  CHECK(status_of(first.get("/hello")) == "200");  // now the second is the one
  auto third = served.peer();
  CHECK(status_of(third.get("/hello")) == "200");
  CHECK(second.ended());
  CHECK(status_of(first.get("/hello")) == "200");
}

TEST_CASE("whatever bytes come, the server answers the next caller", "[rest]") {
  const Served served;
  std::mt19937 random{20'261'129};  // NOLINT: the same bytes every time
  const std::string seed =
      "POST /echo?a=%20&b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: y\r\n\r\nhello";
  for (int round = 0; round < 500; ++round) {
    std::string bytes = seed;
    const auto changes = 1 + random() % 8;
    for (std::size_t i = 0; i < changes; ++i) {
      const auto at = random() % bytes.size();
      if (random() % 3 == 0)
        bytes.erase(at, random() % 7);
      else if (random() % 2 == 0)
        bytes.insert(at, 1, static_cast<char>(random()));
      else
        bytes[at] = static_cast<char>(random());
      if (bytes.empty()) bytes = seed;
    }
    const auto peer = served.peer();
    REQUIRE(peer.connected());
    peer.send(bytes);
    if (round % 50 == 0) REQUIRE(status_of(served.peer().get("/hello")) == "200");
  }
  CHECK(status_of(served.peer().get("/hello")) == "200");
}

}  // namespace sluice::rest
