#include "host/cli/host_client.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::cli {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {

constexpr std::uint64_t kReplyBytesMax = 256ULL * 1024 * 1024;

/// One connection whose steps follow each other, each with the same end of patience.
class Conversation {
 public:
  explicit Conversation(const std::filesystem::path& socket) : socket_{socket}, stream_{context_} {
    stream_.expires_after(HostClient::kPatience);
  }

  Result<HostReply> hold(http::request<http::string_body> request) {
    SLUICE_TRY(step([&](auto done) {
      stream_.async_connect(asio::local::stream_protocol::endpoint{socket_.string()}, done);
    }));
    SLUICE_TRY(step([&](auto done) {
      http::async_write(stream_, request,
                        [done](const error_code& error, std::size_t) { done(error); });
    }));
    http::response_parser<http::string_body> parser;
    parser.body_limit(kReplyBytesMax);
    beast::flat_buffer buffer;
    SLUICE_TRY(step([&](auto done) {
      http::async_read(stream_, buffer, parser,
                       [done](const error_code& error, std::size_t) { done(error); });
    }));
    return HostReply{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
  }

 private:
  template <typename Start>
  Result<> step(Start start) {
    std::optional<error_code> result;
    start([&result](const error_code& error) { result = error; });
    context_.restart();
    context_.run();
    if (result && !*result) return {};
    return Error{ErrorCode::Canceled, "no host answers on " + socket_.string() + ": " +
                                          (result ? result->message() : "no answer") +
                                          "; is `sluice host` or `sluice run` running? --url, "
                                          "--state-dir or --config name another socket"};
  }

  const std::filesystem::path& socket_;
  asio::io_context context_{1};
  beast::basic_stream<asio::local::stream_protocol> stream_;
};

}  // namespace

Result<HostReply> HostClient::ask(const std::string& method, const std::string& target,
                                  const std::string& body) const {
  http::request<http::string_body> request;
  request.method_string(method);
  request.target(target);
  request.version(11);
  request.set(http::field::host, "localhost");
  request.keep_alive(false);
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = body;
  request.prepare_payload();
  try {  // Asio throws for a path that is too long for a socket's name
    return Conversation{socket_}.hold(std::move(request));
  } catch (const boost::system::system_error& error) {
    return Error{ErrorCode::Canceled, "control socket " + socket_.string() + ": " + error.what()};
  }
}

std::string percent_encoded(const std::string& text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') || byte == '-' || byte == '.' || byte == '_' ||
                       byte == '~';
    if (plain) {
      encoded += letter;
    } else {
      encoded += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return encoded;
}

}  // namespace sluice::cli
