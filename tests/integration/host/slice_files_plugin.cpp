// A sink that names its output after the slice: FOLDER/PARTITION-START-END holds the offsets and
// values of one slice, written beside it and renamed, so that a redelivery replaces what is there.
// Every rename is noted in FOLDER.log. A record says by its value what happens to it: "crash" and
// "throw" in put, "crash_flush" in flush. Where the file `die` exists the worker goes with it right
// after the renames, before anybody has been told that they are done.
#include <unistd.h>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sluice/sink.hpp>
#include <stdexcept>
#include <string>

namespace {

struct Settings {
  std::string folder;
  std::string die;
};

class SliceFiles final : public sluice::Sink {
 public:
  static constexpr sluice::Capabilities capabilities() {
    return sluice::Capability::StableSlices | sluice::Capability::Idempotent;
  }

  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("folder", &Settings::folder)
        .required()
        .doc("Where the files of the slices go.")
        .field("die", &Settings::die)
        .doc("A file that ends the worker once, after it has written.");
  }

  explicit SliceFiles(const Settings& settings) : settings_{settings} {}

  void put(const sluice::Batch& batch) override {
    const sluice::Slice slice = batch.slice();
    const std::string name = std::to_string(slice.partition()) + "-" +
                             std::to_string(slice.start_offset()) + "-" +
                             std::to_string(slice.end_offset());
    std::string& text = texts_[name];
    for (const auto& record : batch) {
      if (record.value() == "crash") ::raise(SIGSEGV);
      if (record.value() == "throw") throw std::runtime_error{"a record that cannot be written"};
      text += std::to_string(record.offset()) + " " + std::string{record.value()} + "\n";
    }
  }

  void flush() override {
    for (const auto& [name, text] : texts_) {
      if (text.find(" crash_flush\n") != std::string::npos) ::raise(SIGSEGV);
      const auto part = settings_.folder + "." + std::to_string(::getpid());
      std::ofstream{part, std::ios::trunc} << text;
      std::filesystem::rename(part, settings_.folder + "/" + name);
      std::ofstream{settings_.folder + ".log", std::ios::app} << name + "\n" << std::flush;
    }
    texts_.clear();
    if (!settings_.die.empty() && std::filesystem::remove(settings_.die)) ::raise(SIGKILL);
  }

  void rollback() override { texts_.clear(); }

 private:
  Settings settings_;
  std::map<std::string, std::string> texts_;
};

}  // namespace

SLUICE_SINK(SliceFiles, "slice_files", "1.0.0")
