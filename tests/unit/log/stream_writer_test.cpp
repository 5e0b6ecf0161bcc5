#include "host/log/stream_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace sluice::log {
namespace {

class Pipe {
 public:
  Pipe() { REQUIRE(::pipe2(fds_, O_CLOEXEC) == 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_reader();
    ::close(fds_[1]);
  }

  int writer() const { return fds_[1]; }
  void close_reader() {
    if (fds_[0] >= 0) ::close(fds_[0]);
    fds_[0] = -1;
  }
  std::string read(std::size_t bytes_max) {
    std::string text(bytes_max, '\0');
    const ssize_t length = ::read(fds_[0], text.data(), text.size());
    REQUIRE(length >= 0);
    text.resize(static_cast<std::size_t>(length));
    return text;
  }
  std::size_t capacity() const { return static_cast<std::size_t>(::fcntl(fds_[1], F_GETPIPE_SZ)); }

 private:
  int fds_[2] = {-1, -1};
};

}  // namespace

TEST_CASE("a line arrives whole", "[log]") {
  Pipe pipe;
  StreamWriter writer{pipe.writer(), Milliseconds{0}};
  REQUIRE(writer.write_line("hello\n"));
  CHECK(pipe.read(100) == "hello\n");
}

TEST_CASE("a full pipe costs lines, not the writer, and heals when it is read", "[log]") {
  Pipe pipe;
  StreamWriter writer{pipe.writer(), Milliseconds{1}};
  const std::string line = std::string(3999, 'x') + "\n";
  std::size_t written = 0;
  while (writer.write_line(line)) ++written;  // ends because the pipe is bounded
  CHECK(written >= pipe.capacity() / 4096);
  CHECK_FALSE(writer.write_line(line));
  for (std::size_t i = 0; i < written; ++i) REQUIRE(pipe.read(line.size()) == line);
  CHECK(writer.write_line("after\n"));
  CHECK(pipe.read(100) == "after\n");
}

TEST_CASE("a reader that is gone is an answer, not a SIGPIPE", "[log]") {
  Pipe pipe;
  StreamWriter writer{pipe.writer(), Milliseconds{0}};
  pipe.close_reader();
  CHECK_FALSE(writer.write_line("nobody hears this\n"));
}

TEST_CASE("a descriptor that is not open is an answer", "[log]") {
  StreamWriter writer{-1, Milliseconds{0}};
  CHECK_FALSE(writer.write_line("x\n"));
}

}  // namespace sluice::log
