// A processor that makes a very large record of a small one, and is a plugin otherwise: the value
// "grow" becomes 12,000,000 letters (B11).
#include <sluice/processor.hpp>
#include <string>

namespace {

constexpr std::size_t kBytes = 12'000'000;

class Grow final : public sluice::Processor {
 public:
  void process(const sluice::Batch& batch, sluice::Output& out) override {
    for (const auto& record : batch) {
      if (record.value() == "grow") {
        out.emit(record).value(std::string(kBytes, 'g'));
      } else {
        out.pass(record);
      }
    }
  }
};

}  // namespace

SLUICE_PROCESSOR(Grow, "grow", "1.0.0")
