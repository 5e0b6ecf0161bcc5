// A sink that forgets what it gets, for measuring everything before a sink. work.ns makes it burn
// CPU per record, as a sink that formats or compresses does. It is work, not time: the rounds for
// one nanosecond are measured once, on the thread's own CPU clock, so that a worker that shares its
// core does not do less.
#include <sluice/sink.hpp>

#include <algorithm>
#include <ctime>

namespace {

struct Settings {
  std::int64_t work_ns = 0;
};

/// A round depends on the one before, so that neither compiler nor core shortens it.
std::uint64_t burn(std::uint64_t rounds, std::uint64_t state) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    asm volatile("" : "+r"(state));
  }
  return state;
}

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

double rounds_per_ns() {
  constexpr std::uint64_t kRounds = 1'000'000;  // about 2 ms
  constexpr int kMeasurements = 5;              // the fastest one was disturbed least
  std::int64_t fastest_ns = INT64_MAX;
  for (int measurement = 0; measurement < kMeasurements; ++measurement) {
    const std::int64_t before = thread_cpu_ns();
    burn(kRounds, 1);
    fastest_ns = std::min(fastest_ns, thread_cpu_ns() - before);
  }
  return static_cast<double>(kRounds) / static_cast<double>(std::max<std::int64_t>(fastest_ns, 1));
}

class NullSink final : public sluice::Sink {
 public:
  static const char* summary() {
    return "Forgets every record; work.ns makes each one cost CPU time.";
  }

  static constexpr sluice::Capabilities capabilities() { return sluice::Capability::Idempotent; }

  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("work.ns", &Settings::work_ns)
        .min("0")
        .max("1000000000")
        .importance(sluice::Importance::Low)
        .example("500")
        .doc("CPU time to burn for each record, in nanoseconds: a stand-in for a sink that works.");
  }

  explicit NullSink(const Settings& settings) {
    if (settings.work_ns > 0) {
      rounds_ = static_cast<std::uint64_t>(static_cast<double>(settings.work_ns) * rounds_per_ns());
    }
  }

  void put(const sluice::Batch& batch) override {
    if (rounds_ == 0) {
      return;
    }
    for (const sluice::Record record : batch) {
      state_ = burn(rounds_, state_ + record.value().size());
    }
  }

 private:
  std::uint64_t rounds_ = 0;
  std::uint64_t state_ = 1;
};

}  // namespace

SLUICE_SINK(NullSink, "null", "1.0.0")
