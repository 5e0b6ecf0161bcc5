#include "host/rest/unix_listener.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "unit/rest/http_peer.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::rest {

using test::HttpPeer;

TEST_CASE("the socket's file is for the host and its group, and goes with the listener", "[rest]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "made" / "s.sock";
  {
    const auto listener = UnixListener::open(path);
    REQUIRE(listener.has_value());
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0660);
    CHECK(HttpPeer{path}.connected());
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a dead host's socket is replaced, a living one's is not", "[rest]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "s.sock";
  auto first = UnixListener::open(path);
  REQUIRE(first.has_value());
  const auto refused = UnixListener::open(path);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == ErrorCode::Refused);
  CHECK(refused.error().message().find("another host answers there") != std::string::npos);
  CHECK(HttpPeer{path}.connected());

  // As after SIGKILL: the descriptor is closed, the file is left.
  first->take_descriptor();
  CHECK_FALSE(HttpPeer{path}.connected());
  const auto second = UnixListener::open(path);
  REQUIRE(second.has_value());
  CHECK(HttpPeer{path}.connected());
  // The file is no longer the first one's to take away.
  { const auto gone = *std::move(first); }
  CHECK(HttpPeer{path}.connected());
}

TEST_CASE("what is no socket is left alone, and a name that is too long says so", "[rest]") {
  const TemporaryFolder folder;
  const auto file = folder.write("s.sock", "mine");
  const auto refused = UnixListener::open(file);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message().find("is no socket") != std::string::npos);
  CHECK(std::filesystem::file_size(file) == 4);
  const auto longer = UnixListener::open(folder.path() / std::string(120, 'x'));
  REQUIRE_FALSE(longer.has_value());
  CHECK(longer.error().message().find("longer than the 107 characters") != std::string::npos);
}

TEST_CASE("rest.listen takes unix:PATH, and says what it does not take yet", "[rest]") {
  CHECK(unix_path_of("unix:/run/x").value() == "/run/x");
  for (const char* address : {"unix:", "unix:x", "/run/x", "0.0.0.0:8083", "http://x"}) {
    CAPTURE(address);
    CHECK_FALSE(unix_path_of(address).has_value());
  }
}

}  // namespace sluice::rest
