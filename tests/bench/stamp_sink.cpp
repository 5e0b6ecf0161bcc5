// The sink of the bars that kill and that lock up: it keeps nothing of a record but when it was
// processed. One stamp for each put, appended to a file that all workers share and that outlives
// them, so that the bars are measured from outside: by CLOCK_MONOTONIC, and by nothing that the
// host says. hang.file makes the next put of any worker hang for ever, once: who removes the file
// is the one.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <sluice/sink.hpp>
#include <stdexcept>
#include <string>

namespace {

struct Settings {
  std::string stamps;
  std::int64_t work_ns = 0;
  std::string hang_file;
};

enum class Kind : std::int32_t { Processed = 0, Hangs = 1 };

/// As sides of the bars read it: struct format "<Qqqiiii".
struct Stamp {
  std::uint64_t at_ns = 0;  ///< CLOCK_MONOTONIC, when the put was over; for Hangs: began
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int32_t pid = 0;
  std::int32_t partition = 0;
  std::int32_t records = 0;
  Kind kind = Kind::Processed;
};
static_assert(sizeof(Stamp) == 40);

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class StampSink final : public sluice::Sink {
 public:
  static const char* summary() { return "Stamps every put with the time, for the bars."; }
  static constexpr sluice::Capabilities capabilities() { return sluice::Capability::Idempotent; }

  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("stamps", &Settings::stamps)
        .required()
        .doc("The file that the stamps are appended to.")
        .field("work.ns", &Settings::work_ns)
        .doc("CPU time to burn for each record, in nanoseconds.")
        .field("hang.file", &Settings::hang_file)
        .doc("While this file is there, the next put removes it and hangs.");
  }

  explicit StampSink(const Settings& settings)
      : work_ns_{static_cast<std::uint64_t>(settings.work_ns)},
        hang_file_{settings.hang_file},
        pid_{::getpid()},
        fd_{::open(settings.stamps.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
    if (fd_ < 0) throw sluice::ConfigError{"stamps", "cannot open " + settings.stamps};
  }
  ~StampSink() override { ::close(fd_); }

  void put(const sluice::Batch& batch) override {
    if (batch.empty()) return;
    Stamp stamp;
    stamp.first = batch[0].offset();
    stamp.last = batch[batch.size() - 1].offset();
    stamp.pid = pid_;
    stamp.partition = batch.partition();
    stamp.records = static_cast<std::int32_t>(batch.size());
    if (!hang_file_.empty() && ::unlink(hang_file_.c_str()) == 0) {
      stamp.kind = Kind::Hangs;
      write(stamp);
      for (;;) ::pause();
    }
    burn(work_ns_ * batch.size());
    write(stamp);
  }

 private:
  /// CPU time and not time, so that a worker that shares its core does not do less.
  static void burn(std::uint64_t ns) {
    if (ns == 0) return;
    const std::uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns) {
    }
  }

  /// Forty bytes in one call, appended: stamps of several workers never mix.
  void write(Stamp& stamp) const {
    stamp.at_ns = clock_ns(CLOCK_MONOTONIC);
    if (::write(fd_, &stamp, sizeof stamp) != sizeof stamp) {
      throw std::runtime_error{"stamps: write failed, errno " + std::to_string(errno)};
    }
  }

  std::uint64_t work_ns_;
  std::string hang_file_;
  std::int32_t pid_;
  int fd_;
};

}  // namespace

SLUICE_SINK(StampSink, "stamp", "1.0.0")
