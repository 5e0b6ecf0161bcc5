#include "broker/kafka_broker.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "host/kafka/admin.hpp"

extern char** environ;

namespace sluice::tests {

namespace {

// 3 s alone; over 90 s were seen, after a kill, on 2 cores that 45 processes wanted.
constexpr std::chrono::seconds kStartLimit{300};
// After a kill it reads its logs again, and who restarts it has time.
constexpr std::chrono::seconds kRestartLimit{600};
constexpr int kAskTimeoutMs = 1'000;
/// One in each of the two partitions in which the broker keeps groups: each is loaded by itself.
/// By the hash of the name, whose lowest bit is the sum of the letters'.
constexpr std::array kGroupOfEachHalf{"sluice-ready-0", "sluice-ready-1"};
constexpr std::size_t kLogTailBytes = 2'000;
constexpr const char* kHeap = "-Xmx512m";
constexpr const char* kClusterId = "c2x1aWNlLXRlc3RzLTAwMQ";  // any 16 bytes, base64url

std::string properties_text(int port, int controller_port, const std::filesystem::path& data) {
  std::ostringstream out;
  out << "process.roles=broker,controller\n"
      << "node.id=1\n"
      << "controller.quorum.voters=1@127.0.0.1:" << controller_port << '\n'
      << "listeners=PLAINTEXT://127.0.0.1:" << port << ",CONTROLLER://127.0.0.1:" << controller_port
      << '\n'
      << "advertised.listeners=PLAINTEXT://127.0.0.1:" << port << '\n'
      << "controller.listener.names=CONTROLLER\n"
      << "log.dirs=" << data.string() << '\n'
      << "auto.create.topics.enable=false\n"
      << "group.initial.rebalance.delay.ms=0\n"
      << "log.cleaner.backoff.ms=200\n"
      << "log.retention.check.interval.ms=500\n"
      << "log.retention.ms=-1\n"  // a topic that wants it says so: tests give records old
                                  // timestamps
      << "message.max.bytes=16777216\n";
  for (const char* topic :
       {"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"}) {
    out << topic << ".replication.factor=1\n" << topic << ".num.partitions=2\n";
  }
  for (const char* topic : {"transaction.state.log", "share.coordinator.state.topic"}) {
    out << topic << ".min.isr=1\n";
  }
  return out.str();
}

}  // namespace

Result<int> free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return io_error("socket", "free port", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int error = errno;
  ::close(fd);
  if (!bound) return io_error("bind", "free port", error);
  return ntohs(address.sin_port);
}

std::string tail_of(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  return text.size() > kLogTailBytes ? text.substr(text.size() - kLogTailBytes) : text;
}

Result<pid_t> spawn_logged(std::vector<std::string> arguments, const std::filesystem::path& log,
                           Session session) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (session == Session::Detached) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return io_error("start", arguments[0], error);
  return pid;
}

int wait_for_exit(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

KafkaBroker::KafkaBroker(KafkaBroker&& other) noexcept
    : folder_{std::exchange(other.folder_, {})},
      bootstrap_servers_{std::move(other.bootstrap_servers_)},
      pid_{std::exchange(other.pid_, -1)} {}

KafkaBroker::~KafkaBroker() {
  kill();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void KafkaBroker::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  wait_for_exit(pid_);
  pid_ = -1;
}

Result<> KafkaBroker::restart(const std::filesystem::path& libs,
                              const std::function<void()>& while_dead) {
  kill();
  while_dead();
  SLUICE_TRY(launch(libs));
  return await_answer(kRestartLimit);
}

Result<KafkaBroker> KafkaBroker::start(const std::filesystem::path& libs) {
  if (!std::filesystem::exists(libs / ".stamp")) {
    return Error{ErrorCode::NotFound,
                 "kafka broker: " + libs.string() + ": not there; run etc/kafka-libs.sh"};
  }
  KafkaBroker broker;
  std::string pattern = (std::filesystem::temp_directory_path() / "sluice-kafka-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return io_error("mkdtemp", pattern, errno);
  broker.folder_ = pattern;
  const auto port = free_port();
  const auto controller_port = free_port();
  if (!port) return port.error();
  if (!controller_port) return controller_port.error();
  broker.bootstrap_servers_ = "127.0.0.1:" + std::to_string(*port);
  std::ofstream{broker.folder_ / "server.properties"}
      << properties_text(*port, *controller_port, broker.folder_ / "data");
  SLUICE_TRY(broker.format(libs));
  SLUICE_TRY(broker.launch(libs));
  SLUICE_TRY(broker.await_answer(kStartLimit));
  return broker;
}

Result<> KafkaBroker::format(const std::filesystem::path& libs) {
  const auto log = folder_ / "format.log";
  const auto pid =
      spawn_logged({"java", "-cp", (libs / "*").string(), "kafka.tools.StorageTool", "format", "-t",
                    kClusterId, "-c", (folder_ / "server.properties").string()},
                   log, Session::Same);
  if (!pid) return pid.error();
  if (wait_for_exit(*pid) == 0) return {};
  return Error{ErrorCode::Io, "kafka broker: format failed: " + tail_of(log)};
}

Result<> KafkaBroker::launch(const std::filesystem::path& libs) {
  const char* const heap = ::getenv("KAFKA_HEAP_OPTS");  // as Kafka's own scripts
  const auto pid =
      spawn_logged({"setpriv", "--pdeathsig", "KILL", "java", heap != nullptr ? heap : kHeap, "-cp",
                    (libs / "*").string(), "kafka.Kafka", (folder_ / "server.properties").string()},
                   folder_ / "server.log", Session::Same);
  if (!pid) return pid.error();
  pid_ = *pid;
  return {};
}

Result<> KafkaBroker::await_answer(std::chrono::seconds limit) {
  const auto client = kafka::HostClient::create(
      {{"bootstrap.servers", bootstrap_servers_}, {"reconnect.backoff.max.ms", "200"}},
      kafka::IsolationLevel::ReadCommitted);
  if (!client) return client.error();
  const auto give_up = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < give_up) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return Error{ErrorCode::Io,
                   "kafka broker: ended while starting: " + tail_of(folder_ / "server.log")};
    }
    // Groups have a coordinator later than topics have leaders: the first test that asks for one
    // would be told that it is loading.
    const std::vector<kafka::TopicPartition> any{{"sluice-ready", 0}};
    bool serves = (*client)->list_topics(kAskTimeoutMs).has_value();
    for (const char* group : kGroupOfEachHalf) {
      serves = serves && (*client)->committed(group, any, kAskTimeoutMs).has_value();
    }
    if (serves) return {};
  }
  return Error{ErrorCode::KafkaUnavailable,
               "kafka broker: no answer in time: " + tail_of(folder_ / "server.log")};
}

}  // namespace sluice::tests
