#include <sluice/processor.hpp>

#include <catch2/catch.hpp>

#include "unit/sdk/plugin_harness.hpp"

using sluice::test::PluginHarness;
using sluice::test::TestBatch;

namespace {

struct Scripted final : sluice::Processor {
  void process(const sluice::Batch& batch, sluice::Output& out) override {
    for (const auto& record : batch) {
      act(batch, record, out);
    }
  }

  void act(const sluice::Batch& batch, const sluice::Record& record, sluice::Output& out) {
    const auto word = record.value();
    if (word == "pass") {
      out.pass(record);
    } else if (word == "twice") {
      out.emit(record).value("first");
      out.emit(record).value("second");
    } else if (word == "change") {
      out.emit(record).key("new key").value(std::string(1000, 'x')).timestamp_ms(5);
    } else if (word == "headers") {
      out.emit(record).header("added", "1").header("added", {});
    } else if (word == "no headers") {
      out.emit(record).without_headers();
    } else if (word == "nulls") {
      out.emit(record).null_key().null_value();
    } else if (word == "empty") {
      out.emit(record).value("");
    } else if (word == "borrow") {
      out.emit(record).borrow_value(record.key());
    } else if (word == "bad") {
      batch.fail(record, "bad");
    } else if (word == "throw") {
      throw std::runtime_error{"no"};
    } else if (word == "disorder") {
      out.pass(record);
      out.pass(batch[0]);
    }
  }
};

sluice::worker::PluginChoice choice() {
  return PluginHarness::of_class(sluice::processor<Scripted>("test", "1.0.0"));
}

}  // namespace

TEST_CASE("a passed record is emitted as a view of the input, not as a copy", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  const TestBatch batch{1, 0, 0, {{"k", "drop"}, {"k", "pass", {{"h", "1"}}}}};
  REQUIRE(processor.process(batch) == SLUICE_OK);
  REQUIRE(processor.host.emitted.size() == 1);
  const auto& emitted = processor.host.emitted[0];
  REQUIRE(emitted.source_index == 1);
  REQUIRE(emitted.value_address == batch[1].value.data);
  REQUIRE(emitted.record.key == "k");
  REQUIRE(emitted.record.headers.size() == 1);
  REQUIRE(emitted.record.timestamp_ms == batch[1].timestamp_ms);
  REQUIRE(emitted.record.timestamp_type == SLUICE_TIMESTAMP_CREATE);
}

TEST_CASE("records are found in a batch of a larger stride", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  const TestBatch batch{1, 0, 0, {{"k", "drop"}, {"k", "drop"}, {"k", "pass"}}, 88};
  REQUIRE(processor.process(batch) == SLUICE_OK);
  REQUIRE(processor.host.emitted.size() == 1);
  REQUIRE(processor.host.emitted[0].source_index == 2);
}

TEST_CASE("one record may become none or several, each tied to its source", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  REQUIRE(processor.process({{"a", "drop"}, {"b", "twice"}, {"c", "pass"}}) == SLUICE_OK);
  REQUIRE(processor.host.emitted.size() == 3);
  REQUIRE(processor.host.emitted[0].source_index == 1);
  REQUIRE(processor.host.emitted[0].record.value == "first");
  REQUIRE(processor.host.emitted[1].source_index == 1);
  REQUIRE(processor.host.emitted[1].record.value == "second");
  REQUIRE(processor.host.emitted[1].record.key == "b");
  REQUIRE(processor.host.emitted[2].source_index == 2);
}

TEST_CASE("what is emitted stays readable until the next call into the processor", "[sdk]") {
  sluice_bytes value{};
  PluginHarness processor{choice()};
  processor.host.raw.emit = [](const sluice_host* host, const sluice_out* outs,
                               std::uint32_t) noexcept -> sluice_status {
    auto* fake = static_cast<sluice::test::FakeHost*>(host->context);
    *static_cast<sluice_bytes*>(const_cast<void*>(fake->emitted.at(0).value_address)) =
        outs[0].value;
    return SLUICE_OK;
  };
  REQUIRE(processor.start() == SLUICE_OK);
  const TestBatch batch{1, 0, 0, {{"k", "change"}}};
  processor.host.emitted.resize(1);
  processor.host.emitted[0].value_address = &value;
  REQUIRE(processor.plugin->process(processor.plugin, batch.raw()) == SLUICE_OK);
  // AddressSanitizer would name this line, were the memory given back when process returned.
  REQUIRE((std::string_view{static_cast<const char*>(value.data), value.size}) ==
          std::string(1000, 'x'));
}

TEST_CASE("key, value and timestamp are replaced, the rest is the source's", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  REQUIRE(processor.process({{"k", "change", {{"h", "1"}}}}) == SLUICE_OK);
  const auto& record = processor.host.emitted.at(0).record;
  REQUIRE(record.key == "new key");
  REQUIRE(record.value == std::string(1000, 'x'));
  REQUIRE(record.timestamp_ms == 5);
  REQUIRE(record.headers.size() == 1);
}

TEST_CASE("headers are added after those of the source, or dropped", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  REQUIRE(processor.process({{"k", "headers", {{"h", "0"}}}, {"k", "no headers", {{"h", "0"}}}}) ==
          SLUICE_OK);
  using Headers = std::vector<std::pair<std::string, std::optional<std::string>>>;
  REQUIRE(processor.host.emitted.at(0).record.headers ==
          Headers{{"h", "0"}, {"added", "1"}, {"added", std::nullopt}});
  REQUIRE(processor.host.emitted.at(1).record.headers.empty());
}

TEST_CASE("null and empty are emitted as different things", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  REQUIRE(processor.process({{"k", "nulls"}, {"k", "empty"}, {std::nullopt, "borrow"}}) ==
          SLUICE_OK);
  REQUIRE_FALSE(processor.host.emitted.at(0).record.key.has_value());
  REQUIRE_FALSE(processor.host.emitted.at(0).record.value.has_value());
  REQUIRE(processor.host.emitted.at(1).record.value == "");
  REQUIRE_FALSE(processor.host.emitted.at(2).record.value.has_value());
}

TEST_CASE("an exception from process emits nothing of its batch", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  REQUIRE(processor.process({{"k", "pass"}, {"k", "throw"}}) == SLUICE_FAIL);
  REQUIRE(processor.host.emitted.empty());
  REQUIRE(processor.host.position == 1);
  REQUIRE(processor.process({{"k", "pass"}}) == SLUICE_OK);
  REQUIRE(processor.host.emitted.size() == 1);
}

TEST_CASE("a record failed by a processor is not emitted, and told to the host", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  REQUIRE(processor.process({{"k", "pass"}, {"k", "bad"}}) == SLUICE_OK);
  REQUIRE(processor.host.emitted.size() == 1);
  REQUIRE(processor.host.failed.count({1, 1}) == 1);
}

TEST_CASE("records emitted out of their sources' order fail the batch", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.start() == SLUICE_OK);
  REQUIRE(processor.process({{"k", "pass"}, {"k", "disorder"}}) == SLUICE_FAIL);
  REQUIRE(processor.host.error.message == "emitted records are not in the order of their sources");
}

TEST_CASE("a processor has process and no put", "[sdk]") {
  PluginHarness processor{choice()};
  REQUIRE(processor.plugin->process != nullptr);
  REQUIRE(processor.plugin->put == nullptr);
  REQUIRE(processor.plugin->flush == nullptr);
}
