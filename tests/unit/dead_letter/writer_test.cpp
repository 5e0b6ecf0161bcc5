// Letters under way: refusals, sizes, bounds, the circuit breaker. The outlet is the test's hand.
#include "host/dead_letter/writer.hpp"

#include <catch2/catch.hpp>

#include "unit/dead_letter/fake_outlet.hpp"

namespace sluice::dead_letter {
namespace {

using fixture::OutletWorld;
using Texts = std::vector<std::string>;

constexpr std::int64_t kSecondUs = 1'000'000;
const Error kTooLarge{ErrorCode::TooLarge, "produce: dlq[0]: too large"};
const Error kForbidden{ErrorCode::Configuration, "produce: dlq[0]: not authorized"};

struct Records {
  explicit Records(const Texts& values) : values_{values}, records(values.size()) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      records[i].value = {values_[i].data(), values_[i].size()};
      records[i].offset = static_cast<std::int64_t>(i);
    }
  }
  Texts values_;
  std::vector<sluice_record> records;
};

void add_all(Writer& writer, const Records& of) {
  for (const auto& record : of.records) {
    writer.add(record, "orders", {std::string{kStagePut}, "fault", "put", "bad", {}}, 1);
  }
}

WriterOptions options(Context context = Context::Full) {
  return {"archive", 0, context, std::nullopt};
}

}  // namespace

TEST_CASE("a letter is written when it is acknowledged, not when it is sent", "[dead_letter]") {
  OutletWorld world;
  const Records records{{"a", "b"}};
  Writer writer{options(), world.open()};
  add_all(writer, records);
  CHECK(world.opened == 0);
  world.is_silent = true;
  writer.send();
  writer.serve(0);
  CHECK(world.sent.size() == 2);
  CHECK(writer.unanswered() == 2);
  world.is_silent = false;
  writer.serve(0);
  CHECK(writer.unanswered() == 0);
  CHECK(writer.letters()[1].state == LetterState::Written);
}

TEST_CASE("a letter that is too large goes again with less context, the others do not",
          "[dead_letter]") {
  OutletWorld world;
  const Records records{{"large", "small"}};
  Writer writer{options(), world.open()};
  add_all(writer, records);
  world.answers = {kTooLarge, std::nullopt, kTooLarge};
  for (int round = 0; round < 3; ++round) {
    writer.send();
    writer.serve(0);
  }
  CHECK(writer.unanswered() == 0);
  CHECK(writer.refused() == 0);
  REQUIRE(world.sent.size() == 4);
  CHECK(world.sent[0].header("__connect.errors.exception.message") == "bad");
  CHECK(world.sent[2].header("__connect.errors.exception.message") == "(none)");
  CHECK(world.sent[2].header("__connect.errors.stage") == "TASK_PUT");
  CHECK(world.sent[3].headers.empty());
  CHECK(world.acknowledged == Texts{"small", "large"});
  CHECK(writer.letters()[0].context == Context::None);
}

TEST_CASE("a letter that is too large without context is refused with that reason",
          "[dead_letter]") {
  OutletWorld world;
  const Records records{{"large"}};
  Writer writer{options(Context::None), world.open()};
  add_all(writer, records);
  world.answers = {kTooLarge};
  writer.send();
  writer.serve(0);
  CHECK(writer.refused() == 1);
  CHECK(writer.letters()[0].why == "produce: dlq[0]: too large");
}

TEST_CASE("what was refused can be tried again, what was written is not", "[dead_letter]") {
  OutletWorld world;
  const Records records{{"a", "b", "c"}};
  Writer writer{options(), world.open()};
  add_all(writer, records);
  world.answers = {std::nullopt, kForbidden};
  writer.send();
  writer.serve(0);
  CHECK(writer.refused() == 1);
  CHECK(writer.unanswered() == 0);
  writer.retry_refused();
  CHECK(writer.unanswered() == 1);
  writer.send();
  writer.serve(0);
  CHECK(writer.refused() == 0);
  CHECK(world.acknowledged == Texts{"a", "c", "b"});
  CHECK(world.opened == 2);  // a client remembers what it was refused
}

TEST_CASE("an outlet that cannot be opened refuses with its reason, and is opened later",
          "[dead_letter]") {
  OutletWorld world;
  world.open_error = Error{ErrorCode::Configuration, "no such certificate"};
  const Records records{{"a"}};
  Writer writer{options(), world.open()};
  add_all(writer, records);
  writer.send();
  REQUIRE(writer.refused() == 1);
  CHECK(writer.letters()[0].why == "no such certificate");
  world.open_error.reset();
  writer.retry_refused();
  writer.send();
  writer.serve(0);
  CHECK(world.acknowledged == Texts{"a"});
}

TEST_CASE("an outlet without room is asked again, and nothing is lost or doubled",
          "[dead_letter]") {
  OutletWorld world;
  world.room = 2;
  const Records records{{"a", "b", "c", "d", "e"}};
  Writer writer{options(), world.open()};
  add_all(writer, records);
  for (int round = 0; round < 3; ++round) {
    writer.send();
    writer.serve(0);
  }
  CHECK(world.acknowledged == Texts{"a", "b", "c", "d", "e"});
}

TEST_CASE("what is under way is bounded by count and bytes, and one large letter always goes",
          "[dead_letter]") {
  OutletWorld world;
  const Records many{Texts(kUnderWayMax + 5, "v")};
  Writer writer{options(), world.open()};
  add_all(writer, many);
  writer.send();
  CHECK(world.sent.size() == kUnderWayMax);
  writer.serve(0);
  writer.send();
  writer.serve(0);
  CHECK(writer.unanswered() == 0);
  writer.clear();
  const Records large{Texts(2, std::string(kUnderWayBytesMax + 1, 'x'))};
  add_all(writer, large);
  world.sent.clear();
  writer.send();
  CHECK(world.sent.size() == 1);
}

TEST_CASE("a client that is beyond repair is made anew and sends again what it had",
          "[dead_letter]") {
  OutletWorld world;
  const Records records{{"a"}};
  Writer writer{options(), world.open()};
  add_all(writer, records);
  writer.send();
  world.is_broken = true;
  writer.serve(0);
  writer.send();
  writer.serve(0);
  CHECK(world.opened == 2);
  CHECK(world.acknowledged == Texts{"a"});
}

TEST_CASE("drop forgets every letter and the client that had some under way", "[dead_letter]") {
  OutletWorld world;
  const Records records{{"a"}};
  const Records others{{"b"}};
  Writer writer{options(), world.open()};
  add_all(writer, records);
  writer.send();
  writer.drop();
  CHECK(writer.empty());
  add_all(writer, others);
  writer.send();
  writer.serve(0);
  CHECK(world.opened == 2);
  CHECK(world.acknowledged == Texts{"b"});
}

TEST_CASE("the circuit breaker counts a minute from its first letter", "[dead_letter]") {
  OutletWorld world;
  WriterOptions limited = options();
  limited.rate_max = 10;
  Writer writer{limited, world.open()};
  CHECK(writer.admit(6, 0));
  CHECK_FALSE(writer.admit(5, kSecondUs));
  CHECK(writer.admit(4, 2 * kSecondUs));
  CHECK_FALSE(writer.admit(1, 59 * kSecondUs));
  CHECK(writer.admit(10, 60 * kSecondUs));
  CHECK_FALSE(writer.admit(11, 200 * kSecondUs));
}

TEST_CASE("without a rate nothing is ever too much", "[dead_letter]") {
  OutletWorld world;
  Writer writer{options(), world.open()};
  CHECK(writer.admit(1'000'000, 0));
}

}  // namespace sluice::dead_letter
