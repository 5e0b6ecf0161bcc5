// `sluice demo` as a newcomer runs it. Its own exit code says whether everything came out as it
// went in; here is what it must have seen on the way.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "integration/host/program.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::test {

TEST_CASE("the demo loses nothing to a kill, and to a poison record only that record", "[demo]") {
  const TemporaryFolder folder;
  Program demo{
      {SLUICE_BIN_DIR "/sluice", "demo", "--json", "--dir", (folder.path() / "demo").string()},
      folder.path() / "demo-output"};
  const int exit_code = demo.wait();
  INFO(demo.out() << demo.err());
  REQUIRE(exit_code == 0);
  const auto told = boost::json::parse(demo.out()).as_object();
  CHECK(told.at("lost").as_int64() == 0);
  CHECK(told.at("delivered").as_int64() == 99'999);
  CHECK(told.at("dead_letters").as_int64() == 1);
  CHECK(told.at("dead_letter_stage").as_string() == "CRASH");
  CHECK(told.at("dead_letter_signal").as_string() == "11");
  CHECK(told.at("crash").as_string().find("fragile_processor.so+0x") != std::string::npos);
  // Two, unless the kill came while the record was being isolated.
  CHECK(told.at("crashes").as_int64() >= 2);
  CHECK(told.at("crashes").as_int64() <= 3);
  CHECK(told.at("elsewhere_ms").is_int64());
}

// Its plugins are in two folders of the prefix, and one of them is the demo's own.
TEST_CASE("the demo finds its plugins where it is installed, in whatever prefix", "[demo]") {
  const TemporaryFolder folder;
  const auto prefix = folder.path() / "prefix";
  Program install{{SLUICE_CMAKE, "--install", SLUICE_BUILD_DIR, "--prefix", prefix.string()},
                  folder.path() / "install-output"};
  const int installed = install.wait();
  INFO(install.out() << install.err());
  REQUIRE(installed == 0);
  Program demo{{(prefix / "bin/sluice").string(), "demo", "--json", "--dir",
                (folder.path() / "demo").string()},
               folder.path() / "demo-output"};
  const int exit_code = demo.wait();
  INFO(demo.out() << demo.err());
  CHECK(exit_code == 0);
}

}  // namespace sluice::test
