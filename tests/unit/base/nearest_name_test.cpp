#include "host/base/nearest_name.hpp"

#include <array>
#include <catch2/catch.hpp>

namespace sluice {
namespace {
constexpr std::array<std::string_view, 4> kKnown{"file", "format", "tasks.max", "topics"};
}

TEST_CASE("the nearest name survives a missing, a wrong and two swapped characters", "[base]") {
  CHECK(nearest_name("fle", kKnown) == "file");
  CHECK(nearest_name("formet", kKnown) == "format");
  CHECK(nearest_name("task.max", kKnown) == "tasks.max");
  CHECK(nearest_name("topisc", kKnown) == "topics");
}

TEST_CASE("a name that is near to nothing gets no suggestion", "[base]") {
  CHECK(nearest_name("password", kKnown).empty());
  CHECK(nearest_name("", kKnown).empty());
  CHECK(nearest_name(std::string(1000, 'f'), kKnown).empty());
  CHECK(nearest_name("file", {}).empty());
}

}  // namespace sluice
