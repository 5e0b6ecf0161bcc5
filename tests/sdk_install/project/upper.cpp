// A third party's processor: upper-cases values.
#include <sluice/processor.hpp>

#include <algorithm>

struct Settings {
  bool keys_too = false;
};

class Upper final : public sluice::Processor {
 public:
  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("keys.too", &Settings::keys_too)
        .doc("Upper-case keys as well.");
  }
  explicit Upper(const Settings& settings) : keys_too_{settings.keys_too} {}

  void process(const sluice::Batch& batch, sluice::Output& out) override {
    for (const auto& record : batch) {
      auto emitted = out.emit(record);
      if (!record.is_tombstone()) emitted.value(upper(record.value()));
      if (keys_too_ && !record.key().is_null()) emitted.key(upper(record.key()));
    }
  }

 private:
  static std::string upper(std::string_view text) {
    std::string changed{text};
    std::transform(changed.begin(), changed.end(), changed.begin(), [](char letter) {
      return letter >= 'a' && letter <= 'z' ? letter - 32 : letter;
    });
    return changed;
  }

  bool keys_too_;
};
SLUICE_PROCESSOR(Upper, "upper", "0.1.0")
