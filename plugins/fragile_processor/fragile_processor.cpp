// A processor that passes every record on and cannot stand one of them: for the demo and for tests,
// a plugin with a bug that one record in a million finds.
#include <sluice/processor.hpp>

#include <cstdint>
#include <string>

namespace {

struct Settings {
  std::string crash_value;
};

class Fragile final : public sluice::Processor {
 public:
  static const char* summary() {
    return "Passes every record on, and crashes on those whose value holds a text.";
  }

  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("crash.value", &Settings::crash_value)
        .required()
        .example("\"goods\":\"glass\"")
        .doc("A value that holds these bytes ends the process with SIGSEGV, every time.");
  }

  explicit Fragile(const Settings& settings) : settings_{settings} {}

  void process(const sluice::Batch& batch, sluice::Output& out) override {
    for (const sluice::Record record : batch) {
      if (record.value().find(settings_.crash_value) != std::string_view::npos) break_apart();
      out.pass(record);
    }
  }

 private:
  [[gnu::noinline]] static void break_apart() {
    volatile std::uintptr_t nowhere = 16;  // twice volatile: else the compiler leaves it out
    *reinterpret_cast<volatile int*>(nowhere) = 1;
  }

  Settings settings_;
};

}  // namespace

SLUICE_PROCESSOR(Fragile, "fragile", "1.0.0")
