// A plugin full of what likes to be exported: templates of libstdc++ with default visibility,
// statics of templates (STB_GNU_UNIQUE), thread-locals, a class with default visibility of its own.
#include <sluice/sluice.hpp>

#include <regex>

namespace exports_much {

template <typename T>
struct Counted {
  static int& count() {
    static int counted = 0;
    return counted;
  }
};

inline thread_local int per_thread = 0;

struct __attribute__((visibility("default"))) Public {
  virtual ~Public() = default;
  std::regex pattern{"a+"};
};

struct MuchSink final : sluice::Sink {
  void put(const sluice::Batch& batch) override {
    for (const auto& record : batch) {
      Counted<int>::count() += std::regex_search(std::string{record.value()}, open.pattern);
      ++per_thread;
    }
  }
  Public open;
};

struct MuchProcessor final : sluice::Processor {
  void process(const sluice::Batch& batch, sluice::Output& out) override {
    for (const auto& record : batch) {
      out.pass(record);
    }
  }
};

}  // namespace exports_much

SLUICE_MODULE(sluice::sink<exports_much::MuchSink>("much-sink", "1.0.0"),
              sluice::processor<exports_much::MuchProcessor>("much-processor", "1.0.0"))
