// The example of the author's guide (sdk/README.md), word for word but for line breaks.
#include <sluice/sink.hpp>

#include <fstream>

struct Settings {
  std::string file;
};

class Lines final : public sluice::Sink {
 public:
  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("file", &Settings::file)
        .required()
        .doc("File to append to.");
  }
  explicit Lines(const Settings& s) : out_{s.file, std::ios::app} {
    if (!out_) throw sluice::ConfigError{"file", "cannot be opened"};
  }
  void put(const sluice::Batch& batch) override {
    for (const auto& record : batch) out_ << record.value() << '\n';
  }
  void flush() override {  // a real sink also fsyncs: durable
    if (!out_.flush()) throw std::runtime_error{"write failed"};
  }

 private:
  std::ofstream out_;
};
SLUICE_SINK(Lines, "lines", "1.0.0")
