#include "broker/kafka_connect.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "broker/kafka_broker.hpp"

namespace sluice::tests {

namespace {

constexpr std::chrono::seconds kStartLimit{300};  // 10 s alone; more while compilers hold the cores
constexpr std::chrono::milliseconds kLook{100};
constexpr int kOk = 200;
constexpr int kSuccessEnd = 300;

std::string worker_properties(const std::string& bootstrap_servers, int port,
                              const std::filesystem::path& folder) {
  std::ostringstream out;
  out << "bootstrap.servers=" << bootstrap_servers << '\n'
      << "listeners=http://127.0.0.1:" << port << '\n'
      << "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
      << "value.converter=org.apache.kafka.connect.storage.StringConverter\n"
      << "offset.storage.file.filename=" << (folder / "connect.offsets").string() << '\n'
      << "offset.flush.interval.ms=500\n"
      << "plugin.discovery=service_load\n";
  return out.str();
}

/// The status of an HTTP answer that is read to its end ("HTTP/1.1 204 No Content ...").
Result<int> status_of(int fd) {
  std::string answer;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("read", "Kafka Connect", errno);
    if (got == 0) break;
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  constexpr std::size_t kStatusAt = sizeof "HTTP/1.1 " - 1;
  int status = 0;
  if (answer.size() > kStatusAt) {
    std::from_chars(answer.data() + kStatusAt, answer.data() + answer.size(), status);
  }
  if (status == 0) return Error{ErrorCode::Io, "Kafka Connect: no HTTP answer: " + answer};
  return status;
}

Result<int> connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return io_error("socket", "Kafka Connect", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return io_error("connect", "Kafka Connect", error);
}

}  // namespace

KafkaConnect::KafkaConnect(KafkaConnect&& other) noexcept
    : log_{std::move(other.log_)}, port_{other.port_}, pid_{std::exchange(other.pid_, -1)} {}

KafkaConnect::~KafkaConnect() {
  if (pid_ > 0) terminate();
}

Result<KafkaConnect> KafkaConnect::start(const std::filesystem::path& libs,
                                         const std::string& bootstrap_servers,
                                         const std::filesystem::path& folder,
                                         const std::filesystem::path& properties,
                                         const std::string& connector) {
  KafkaConnect connect;
  const auto port = free_port();
  if (!port) return port.error();
  connect.port_ = *port;
  connect.log_ = folder / "connect.log";
  const auto worker = folder / "connect-worker.properties";
  std::ofstream{worker} << worker_properties(bootstrap_servers, *port, folder);
  // It ends soon after: what a compiler makes of hot code does not pay, nor do threads that
  // collect.
  const auto pid = spawn_logged(
      {"setpriv", "--pdeathsig", "KILL", "java", "-Xmx256m", "-XX:+UseSerialGC",
       "-XX:TieredStopAtLevel=1", "-cp", (libs / "*").string(),
       "org.apache.kafka.connect.cli.ConnectStandalone", worker.string(), properties.string()},
      connect.log_, Session::Same);
  if (!pid) return pid.error();
  connect.pid_ = *pid;
  SLUICE_TRY(connect.await_connector(connector));
  return connect;
}

Result<> KafkaConnect::await_connector(const std::string& connector) {
  const auto give_up = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < give_up) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return Error{ErrorCode::Io, "Kafka Connect: ended while starting: " + tail_of(log_)};
    }
    const auto status = ask("GET", "/connectors/" + connector + "/status");
    if (status && *status == kOk) return {};
    std::this_thread::sleep_for(kLook);
  }
  return Error{ErrorCode::Io, "Kafka Connect: no answer in time: " + tail_of(log_)};
}

Result<int> KafkaConnect::ask(const std::string& method, const std::string& path) const {
  const auto fd = connect_to(port_);
  if (!fd) return fd.error();
  const std::string request = method + " " + path +
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n"
                              "Connection: close\r\n\r\n";
  const auto sent = ::send(*fd, request.data(), request.size(), MSG_NOSIGNAL);
  const auto status = sent == static_cast<ssize_t>(request.size())
                          ? status_of(*fd)
                          : Result<int>{io_error("send", "Kafka Connect", errno)};
  ::close(*fd);
  return status;
}

Result<> KafkaConnect::must(const std::string& method, const std::string& path) const {
  const auto status = ask(method, path);
  if (!status) return status.error();
  if (*status >= kOk && *status < kSuccessEnd) return {};
  return Error{ErrorCode::Io, "Kafka Connect: " + method + " " + path + ": status " +
                                  std::to_string(*status) + ": " + tail_of(log_)};
}

Result<> KafkaConnect::stop(const std::string& connector) const {
  return must("PUT", "/connectors/" + connector + "/stop");
}

Result<> KafkaConnect::resume(const std::string& connector) const {
  return must("PUT", "/connectors/" + connector + "/resume");
}

int KafkaConnect::terminate() {
  ::kill(pid_, SIGTERM);
  return wait_for_exit(std::exchange(pid_, -1));
}

}  // namespace sluice::tests
