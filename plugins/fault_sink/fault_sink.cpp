// A ledger that does what a record's value says: fail it, throw, crash, hang ...
// (fault_action.hpp). Keys let it act in start, flush and stop too. It behaves well otherwise: what
// it throws, it throws before it kept anything of the batch.
#include <sluice/sink.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "fault_sink/endings.hpp"
#include "fault_sink/fault_action.hpp"
#include "fault_sink/idle_thread.hpp"
#include "lines/ledger_line.hpp"
#include "lines/line_files.hpp"

namespace {

namespace fault = sluice::fault;
using sluice::fault::Act;
using sluice::fault::Action;

struct Settings {
  std::string file;
  bool buffer = false;
  std::optional<std::string> once_folder;
  sluice::ByteSize alloc_max{std::uint64_t{4} << 30};
  std::string start_action;
  std::string flush_action;
  std::string stop_action;
  std::string idle_action;
  std::optional<std::string> outage_file;
};

/// How often `again` and `lost` were answered, by place. Of the process: the reset that follows
/// `lost` makes the sink anew, and a failed start leaves no sink at all.
class Answers {
 public:
  static bool is_due(const std::string& place, std::int64_t times) {
    static std::map<std::string, std::int64_t> answered;
    return answered[place]++ < times;
  }
};

class FaultSink final : public sluice::Sink {
 public:
  static const char* summary() {
    return "For tests: a ledger that fails as a record's value says.";
  }

  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("file", &Settings::file)
        .required()
        .example("ledger-{topic}-{partition}.jsonl")
        .doc("File to append to; {topic} and {partition} are replaced, folders are created.")
        .field("buffer", &Settings::buffer)
        .doc("Keep lines in memory until flush, as a sink that uploads files does.")
        .field("once.folder", &Settings::once_folder)
        .doc(
            "An existing folder: what ends or hangs a worker, and throw, happens once for each "
            "record (or hook); a file in it remembers that across workers.")
        .field("alloc.max", &Settings::alloc_max)
        .doc("How much memory alloc takes before it gives up with std::bad_alloc.")
        .field("start.action", &Settings::start_action)
        .example("again:3")
        .doc("A word to act on when the sink starts.")
        .field("flush.action", &Settings::flush_action)
        .example("bad")
        .doc("A word to act on in each flush, before it is done; bad fails the last record put.")
        .field("stop.action", &Settings::stop_action)
        .example("hang")
        .doc("A word to act on when the sink stops; throw, again and lost would end the process.")
        .field("idle.action", &Settings::idle_action)
        .example("crash")
        .doc("A word that a thread of the sink acts on when nothing has come for 0.3 s.")
        .field("outage.file", &Settings::outage_file)
        .doc("While this file exists, the word in it is acted on in every put.");
  }

  static void validate(const Settings& settings, sluice::Problems& problems) {
    if (const auto problem = sluice::lines::problem_of_template(settings.file)) {
      problems.add("file", *problem);
    }
    check_action("start.action", settings.start_action, problems);
    check_action("flush.action", settings.flush_action, problems);
    check_action("stop.action", settings.stop_action, problems);
    check_action("idle.action", settings.idle_action, problems);
  }

  FaultSink(const Settings& settings, const sluice::Start& start)
      : Sink{start}, settings_{settings}, files_{settings.file, log()} {
    act("start", settings_.start_action);
    if (const auto action = sluice::fault::parse_action(settings_.idle_action);
        action && action->act != Act::Nothing) {
      idle_.emplace([this, action = *action] { act_while_idle(action); });
    }
  }

  ~FaultSink() override {
    idle_.reset();
    act("stop", settings_.stop_action);
  }

  void put(const sluice::Batch& batch) override {
    if (batch.empty()) {
      return;
    }
    const std::lock_guard used{in_use_};
    act("outage", outage());
    const sluice::Slice slice = batch.slice();
    lines_.clear();
    for (const sluice::Record record : batch) {
      put_record(batch, slice, record);
    }
    append(slice, lines_);
    last_slice_id_ = batch.slice_id();
    last_offset_ = batch[batch.size() - 1].offset();
  }

  void flush() override {
    const std::lock_guard used{in_use_};
    const Act dies = std::exchange(dies_in_flush_, Act::Nothing);
    if (dies == Act::KillFlush) {
      fault::die();
    }
    if (dies == Act::CrashFlush) {
      fault::crash();
    }
    const auto action = sluice::fault::parse_action(settings_.flush_action);
    if (action && action->act == Act::Bad) {
      if (last_offset_ >= 0) {
        fail_record(last_slice_id_, last_offset_, action->text);
      }
    } else {
      act("flush", settings_.flush_action);
    }
    for (const auto& [at, lines] : buffered_) {
      files_.append(at.first, at.second, lines);
    }
    buffered_.clear();
    files_.sync();
    last_offset_ = -1;
    if (dies == Act::KillFlushed) {
      fault::die();
    }
    if (idle_) {
      idle_->touch();
    }
  }

 private:
  static void check_action(const char* key, const std::string& word, sluice::Problems& problems) {
    const auto action = sluice::fault::parse_action(word);
    if (!action || (action->act == Act::Nothing && !word.empty()) || action->act == Act::Half) {
      problems.add(key, "is not a word to act on here");
    }
  }

  /// What needs a record, or the flush that comes after one.
  static bool is_of_records(Act act) { return act == Act::Half || dies_with_flush(act); }

  static bool dies_with_flush(Act act) {
    return act == Act::KillFlush || act == Act::KillFlushed || act == Act::CrashFlush;
  }

  void put_record(const sluice::Batch& batch, const sluice::Slice& slice,
                  const sluice::Record& record) {
    const auto action = sluice::fault::parse_action(record.value());
    if (action && action->act == Act::Bad) {
      batch.fail(record, action->text);
      return;
    }
    const std::string place = std::string{slice.topic()} + "-" + std::to_string(slice.partition()) +
                              "-" + std::to_string(record.offset());
    if (action && action->act == Act::Half && is_due(place)) {
      write_half_a_line_and_die(slice, record);
    }
    if (action && dies_with_flush(action->act) && is_due(place)) {
      dies_in_flush_ = action->act;
    }
    if (action) {
      act(place, *action);
    }
    sluice::lines::append_ledger_line(lines_, slice, record);
  }

  void append(const sluice::Slice& slice, const std::string& lines) {
    if (settings_.buffer) {
      buffered_[{std::string{slice.topic()}, slice.partition()}] += lines;
    } else {
      files_.append(slice.topic(), slice.partition(), lines);
    }
  }

  /// What the outside world does to every put now; empty while all is well.
  std::string outage() const {
    std::string word;
    if (settings_.outage_file) {
      std::ifstream{*settings_.outage_file} >> word;
    }
    return word;
  }

  /// On the thread of the sink. What would keep the task thread from its work has a lock that put
  /// and flush want, or has nothing to do with them.
  void act_while_idle(const Action& action) {
    if (!is_due("idle")) {
      return;
    }
    if (action.act == Act::Deadlock) {
      in_use_.lock();
      fault::sleep_for_ever();
    }
    if (action.act == Act::Stuck) {
      fault::wait_beside([] {});
    }
    end_or_hang("idle", action);
  }

  void act(const std::string& place, const std::string& word) {
    if (const auto action = sluice::fault::parse_action(word)) {
      act(place, *action);
    }
  }

  void act(const std::string& place, const Action& action) {
    switch (action.act) {
      case Act::Nothing:
      case Act::Bad:
      case Act::Half:
      case Act::KillFlush:
      case Act::KillFlushed:
      case Act::CrashFlush:
        return;
      case Act::Slow:
        return std::this_thread::sleep_for(std::chrono::milliseconds{action.number});
      case Act::Again:
        if (Answers::is_due("again " + settings_.file + " " + place, action.number)) {
          throw sluice::RetriableError{"told to be called again: " + place};
        }
        return;
      case Act::Lost:
        if (Answers::is_due("lost " + settings_.file + " " + place, action.number)) {
          throw sluice::NotConnected{"told to lose the connection: " + place};
        }
        return;
      case Act::Config:
        throw sluice::ConfigError{"start.action", "told to refuse the configuration"};
      default:
        if (is_due(place)) {
          end_or_hang(place, action);
        }
    }
  }

  /// Without once.folder always; with it only if no worker has been here.
  bool is_due(const std::string& place) const {
    if (!settings_.once_folder) {
      return true;
    }
    const std::string marker = *settings_.once_folder + "/" + place;
    const int fd = ::open(marker.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640);
    if (fd < 0 && errno != EEXIST) {
      throw std::system_error{errno, std::generic_category(), "remember an action: " + marker};
    }
    if (fd >= 0) {
      ::close(fd);
    }
    return fd >= 0;
  }

  void end_or_hang(const std::string& place, const Action& action) {
    switch (action.act) {
      case Act::Throw:
        throw std::runtime_error{"told to throw: " + place};
      case Act::Crash:
        return fault::crash();
      case Act::Overflow:
        fault::overflow_stack(0);
        return;
      case Act::Abort:
        std::abort();
      case Act::Exit:
        ::_exit(static_cast<int>(action.number));
      case Act::Kill:
        fault::die();
      case Act::SigStop:
        fault::stop_process();
      case Act::Hang:
        fault::sleep_for_ever();
      case Act::Spin:
        fault::spin();
      case Act::Block:
        fault::block();
      case Act::Deadlock:
        fault::deadlock();
      case Act::Stuck:
        fault::wait_beside([this] { request_flush(); });
      case Act::Alloc:
        fault::take_memory(settings_.alloc_max);
      default:
        return;
    }
  }

  /// What a worker that is killed in the middle of its write leaves (case B15): half of the last
  /// line, and a lock that dies with the process. Past LineFile, which does not write halves.
  [[noreturn]] void write_half_a_line_and_die(const sluice::Slice& slice,
                                              const sluice::Record& record) {
    const std::size_t whole_lines = lines_.size();
    sluice::lines::append_ledger_line(lines_, slice, record);
    lines_.resize(whole_lines + (lines_.size() - whole_lines) / 2);
    const std::string path =
        sluice::lines::path_of(settings_.file, slice.topic(), slice.partition());
    sluice::lines::create_folders_of(path);
    const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    struct flock whole_file {};
    whole_file.l_type = F_WRLCK;
    [[maybe_unused]] const int locked = ::fcntl(fd, F_OFD_SETLKW, &whole_file);
    [[maybe_unused]] const ssize_t written = ::write(fd, lines_.data(), lines_.size());
    fault::die();
  }

  Settings settings_;
  sluice::lines::LineFiles files_;
  std::string lines_;  ///< the batch's, reused
  std::map<std::pair<std::string, std::int32_t>, std::string> buffered_;
  std::uint64_t last_slice_id_ = 0;
  std::int64_t last_offset_ = -1;
  Act dies_in_flush_ = Act::Nothing;  ///< dies_with_flush: a record of this group said so
  std::mutex in_use_;                 ///< held during put and flush
  std::optional<sluice::fault::IdleThread> idle_;
};

}  // namespace

SLUICE_SINK(FaultSink, "fault", "1.0.0")
