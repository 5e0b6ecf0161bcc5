#include "lines/line_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <system_error>

#include "unit/plugins/other_process.hpp"
#include "unit/plugins/read_back.hpp"
#include "unit/temporary_folder.hpp"

using sluice::TemporaryFolder;
using sluice::lines::LineFile;
using sluice::test::lines_of;
using sluice::test::read_file;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

int errno_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

}  // namespace

TEST_CASE("folders are made with 0750 and the file with 0640", "[plugins]") {
  const TemporaryFolder folder;
  const mode_t umask_before = ::umask(022);
  LineFile file{folder.path() / "a" / "b" / "lines"};
  ::umask(umask_before);
  REQUIRE(mode_of(folder.path() / "a") == 0750);
  REQUIRE(mode_of(folder.path() / "a" / "b") == 0750);
  REQUIRE(mode_of(folder.path() / "a" / "b" / "lines") == 0640);
}

// Case B15.
TEST_CASE("a last line without line feed is cut off before the next append", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("lines", "one\ntwo\nthr");
  LineFile file{path};
  REQUIRE(file.append("four\n") == 3);
  REQUIRE(read_file(path) == "one\ntwo\nfour\n");
  REQUIRE(file.append("five\n") == 0);
}

TEST_CASE("an unfinished line longer than any buffer is cut off whole", "[plugins]") {
  const TemporaryFolder folder;
  for (const std::size_t length : {65535, 65536, 65537, 200000}) {
    const std::string path = folder.write("lines", "one\n" + std::string(length, 'x'));
    LineFile file{path};
    REQUIRE(file.append("two\n") == length);
    REQUIRE(read_file(path) == "one\ntwo\n");
  }
}

TEST_CASE("a file that holds nothing but an unfinished line becomes empty", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("lines", std::string(100000, 'x'));
  LineFile file{path};
  REQUIRE(file.append("one\n") == 100000);
  REQUIRE(read_file(path) == "one\n");
}

TEST_CASE("a writer killed at any byte leaves no broken line behind", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  const std::string line = std::string(997, 'x') + "\n";
  std::string block;
  for (int count = 0; count < 4000; ++count) {
    block += line;
  }
  for (int round = 0; round < 10; ++round) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      LineFile file{path};
      for (;;) {
        file.append(block);
      }
    }
    // Somewhere in the second or a later block.
    std::error_code not_there;
    const auto size_before = std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0;
    while (std::filesystem::file_size(path, not_there) <= size_before + block.size() || not_there) {
    }
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    LineFile file{path};
    file.append(line);
    REQUIRE(std::filesystem::file_size(path) % line.size() == 0);
    const std::string text = read_file(path);
    REQUIRE(text.substr(text.size() - 2 * line.size()) == line + line);
    std::filesystem::resize_file(path, 0);
  }
}

TEST_CASE("appends of several processes never mix", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  constexpr int kWriters = 4;
  constexpr int kAppends = 100;
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(::fork());
    if (writers.back() == 0) {
      LineFile file{path};
      const std::string line(3000, static_cast<char>('a' + writer));
      for (int count = 0; count < kAppends; ++count) {
        file.append(line + "\n" + line + "\n");
      }
      ::_exit(0);
    }
  }
  for (const pid_t writer : writers) {
    int status = 0;
    ::waitpid(writer, &status, 0);
    REQUIRE(status == 0);
  }
  const auto lines = lines_of(read_file(path));
  REQUIRE(lines.size() == 2 * kWriters * kAppends);
  for (std::size_t index = 0; index < lines.size(); index += 2) {
    REQUIRE(lines[index] == std::string(3000, lines[index][0]));
    REQUIRE(lines[index + 1] == lines[index]);
  }
}

TEST_CASE("a lock held by a stopped process is an error that names the file", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  LineFile file{path, 10};
  const int other = ::open(path.c_str(), O_RDWR);
  struct flock whole_file {};
  whole_file.l_type = F_WRLCK;
  REQUIRE(::fcntl(other, F_OFD_SETLK, &whole_file) == 0);
  REQUIRE(errno_of([&] { file.append("one\n"); }) == EAGAIN);
  REQUIRE(read_file(path).empty());
  ::close(other);
  file.append("one\n");
  REQUIRE(read_file(path) == "one\n");
}

TEST_CASE("an append that finds no room leaves nothing of itself", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  LineFile file{path};
  file.append("one\n");
  // A limit on the file's size stands in for a full disk: the write stops half-way.
  const auto ignore_before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit_before{};
  ::getrlimit(RLIMIT_FSIZE, &limit_before);
  const rlimit limit{10, limit_before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const int error = errno_of([&] { file.append("two\nthree\nfour\n"); });
  ::setrlimit(RLIMIT_FSIZE, &limit_before);
  std::signal(SIGXFSZ, ignore_before);
  REQUIRE(error == EFBIG);
  REQUIRE(read_file(path) == "one\n");
  file.append("two\n");
  REQUIRE(read_file(path) == "one\ntwo\n");
}

TEST_CASE("a file that was moved away is left behind at the next append after a sync",
          "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "lines";
  LineFile file{path};
  file.append("one\n");
  std::filesystem::rename(path, path + ".1");
  file.append("two\n");  // the same flush: all of it is durable in one file
  REQUIRE_FALSE(std::filesystem::exists(path));
  file.sync();
  file.append("three\n");
  REQUIRE(read_file(path + ".1") == "one\ntwo\n");
  REQUIRE(read_file(path) == "three\n");
}

TEST_CASE("a file that was deleted is made again, with its folder", "[plugins]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "in" / "lines";
  LineFile file{path};
  file.append("one\n");
  file.sync();
  std::filesystem::remove_all(folder.path() / "in");
  file.append("two\n");
  REQUIRE(read_file(path) == "two\n");
}

TEST_CASE("what is no regular file is refused", "[plugins]") {
  const TemporaryFolder folder;
  REQUIRE(errno_of([] { LineFile{"/dev/null"}; }) == EINVAL);
  REQUIRE(errno_of([&] { LineFile{folder.path()}; }) == EISDIR);
  const std::string file = folder.write("file", "");
  REQUIRE(errno_of([&] { LineFile{file + "/lines"}; }) == ENOTDIR);
}

TEST_CASE("sync is needed after an append, and not twice", "[plugins]") {
  const TemporaryFolder folder;
  LineFile file{folder.path() / "lines"};
  REQUIRE_FALSE(file.is_dirty());
  file.append("one\n");
  REQUIRE(file.is_dirty());
  file.sync();
  REQUIRE_FALSE(file.is_dirty());
}
