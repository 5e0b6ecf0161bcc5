// A sink for tests that must account for every record: one JSON line each, with its origin, its
// bytes and the worker and attempt that wrote it. Not a format for users: `file` is.
#include <sluice/sink.hpp>

#include "lines/ledger_line.hpp"
#include "lines/line_files.hpp"

namespace {

struct Settings {
  std::string file;
};

class LedgerSink final : public sluice::Sink {
 public:
  static const char* summary() { return "For tests: a JSON line per record, with who wrote it."; }

  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("file", &Settings::file)
        .required()
        .importance(sluice::Importance::High)
        .example("ledger-{topic}-{partition}.jsonl")
        .doc("File to append to; {topic} and {partition} are replaced, folders are created.");
  }

  static void validate(const Settings& settings, sluice::Problems& problems) {
    if (const auto problem = sluice::lines::problem_of_template(settings.file)) {
      problems.add("file", *problem);
    }
  }

  LedgerSink(const Settings& settings, const sluice::Start& start)
      : Sink{start}, files_{settings.file, log()} {}

  void put(const sluice::Batch& batch) override {
    if (batch.empty()) {
      return;
    }
    const sluice::Slice slice = batch.slice();
    lines_.clear();
    for (const sluice::Record record : batch) {
      sluice::lines::append_ledger_line(lines_, slice, record);
    }
    files_.append(slice.topic(), slice.partition(), lines_);
  }

  void flush() override { files_.sync(); }

 private:
  sluice::lines::LineFiles files_;
  std::string lines_;  ///< the batch's, reused
};

}  // namespace

SLUICE_SINK(LedgerSink, "ledger", "1.0.0")
