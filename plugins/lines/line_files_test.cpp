#include "lines/line_files.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "unit/plugins/read_back.hpp"
#include "unit/temporary_folder.hpp"

using namespace sluice::lines;
using sluice::TemporaryFolder;
using sluice::test::read_file;

TEST_CASE("placeholders are replaced wherever they stand", "[plugins]") {
  REQUIRE(path_of("/out/{topic}-{partition}.jsonl", "orders", 3) == "/out/orders-3.jsonl");
  REQUIRE(path_of("{topic}/{topic}{partition}", "a", 0) == "a/a0");
  REQUIRE(path_of("/out/lines", "orders", 3) == "/out/lines");
}

TEST_CASE("no topic's name climbs out of its folder", "[plugins]") {
  REQUIRE(path_of("/out/{topic}/x", "..", 0) == "/out/%2E%2E/x");
  REQUIRE(path_of("/out/{topic}/x", ".", 0) == "/out/%2E/x");
  REQUIRE(path_of("/out/.{topic}/x", ".", 0) == "/out/.%2E/x");
  REQUIRE(path_of("/out/{topic}/x", "../../etc/passwd", 0) == "/out/..%2F..%2Fetc%2Fpasswd/x");
  REQUIRE(path_of("/out/{topic}", std::string("a\0b", 3), 0) == "/out/a%00b");
  REQUIRE(path_of("/out/{topic}", "A.b_c-9", 0) == "/out/A.b_c-9");
}

TEST_CASE("two topics never share a file because of how their names are written", "[plugins]") {
  REQUIRE(path_of("{topic}", "a/b", 0) != path_of("{topic}", "a%2Fb", 0));
  REQUIRE(path_of("{topic}", "..", 0) != path_of("{topic}", "%2E%2E", 0));
}

TEST_CASE("a template that cannot be a file's path is refused", "[plugins]") {
  REQUIRE_FALSE(problem_of_template("/out/{topic}/{partition}").has_value());
  for (const char* bad : {"", "/out/", "/out/{topic", "/out/{date}.txt", "/out/}", "{{topic}}"}) {
    CAPTURE(bad);
    REQUIRE(problem_of_template(bad).has_value());
  }
  REQUIRE(problem_of_template(std::string_view{"a\0b", 3}).has_value());
}

TEST_CASE("a path that cannot work is a configuration error at the start", "[plugins]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "");
  for (const std::string& path :
       {file + "/lines", file + "/{topic}", std::string{"/dev/null"}, folder.path().string()}) {
    CAPTURE(path);
    REQUIRE_THROWS_AS((LineFiles{path, sluice::Log{nullptr}}), sluice::ConfigError);
  }
}

TEST_CASE("a full disk is a retry, any other error a new connection", "[plugins]") {
  const auto error = [](int code) { return std::system_error{code, std::generic_category()}; };
  REQUIRE_THROWS_AS(throw_for_host(error(ENOSPC)), sluice::RetriableError);
  REQUIRE_THROWS_AS(throw_for_host(error(EDQUOT)), sluice::RetriableError);
  REQUIRE_THROWS_AS(throw_for_host(error(EAGAIN)), sluice::RetriableError);
  REQUIRE_THROWS_AS(throw_for_host(error(EIO)), sluice::NotConnected);
  REQUIRE_THROWS_AS(throw_for_host(error(EACCES)), sluice::NotConnected);
}

TEST_CASE("more files than may be open all get their lines", "[plugins]") {
  const TemporaryFolder folder;
  LineFiles files{folder.path().string() + "/{topic}-{partition}", sluice::Log{nullptr}};
  constexpr int kPartitions = static_cast<int>(kOpenFilesMax) + 10;
  for (int round = 0; round < 2; ++round) {
    for (int partition = 0; partition < kPartitions; ++partition) {
      files.append("t", partition, std::to_string(round) + "\n");
    }
  }
  files.sync();
  std::size_t open = 0;
  for ([[maybe_unused]] const auto& fd : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    ++open;
  }
  REQUIRE(open < kOpenFilesMax + 20);
  for (int partition = 0; partition < kPartitions; ++partition) {
    REQUIRE(read_file(path_of(folder.path().string() + "/{topic}-{partition}", "t", partition)) ==
            "0\n1\n");
  }
}

TEST_CASE("a file that disappears for good becomes a lost connection, not a lost record",
          "[plugins]") {
  const TemporaryFolder folder;
  const auto out = folder.path() / "out";
  LineFiles files{out.string() + "/{partition}", sluice::Log{nullptr}};
  files.append("t", 0, "one\n");
  files.sync();
  std::filesystem::remove_all(out);
  folder.write("out", "a file where the folder was");
  REQUIRE_THROWS_AS(files.append("t", 0, "two\n"), sluice::NotConnected);
}
