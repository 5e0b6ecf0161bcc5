// What tests look at other processes with.
#include <catch2/catch.hpp>

#include "integration/host/program.hpp"

namespace sluice::test {

TEST_CASE("a file that is there and cannot be read is empty, as those of a process that just ended",
          "[program]") {
  CHECK(read_file("/proc/self/task").empty());  // a folder: opened like a file, read is refused
  CHECK(read_file("/proc/self/no-such-file").empty());
  CHECK_FALSE(read_file("/proc/self/stat").empty());
}

}  // namespace sluice::test
