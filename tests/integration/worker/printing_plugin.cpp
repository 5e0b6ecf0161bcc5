// Writes to the standard output while it is being loaded, and is a plugin otherwise.
#include <cstdio>
#include <sluice/sink.hpp>

namespace {

struct Noise {
  Noise() {
    std::puts("loading!");
    std::fflush(stdout);
  }
} noise;

class Silent final : public sluice::Sink {
 public:
  void put(const sluice::Batch&) override {}
  void flush() override {}
};

}  // namespace

SLUICE_SINK(Silent, "silent", "1.0.0")
