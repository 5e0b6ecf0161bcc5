// The files behind one `file` setting: /out/{topic}/{partition}.jsonl is one file per partition,
// made when its first lines come. What an operating system's error means to the host is decided
// here: a path that cannot work at the start is a configuration error, a full disk is a retry,
// anything else makes the plugin anew, which starts with opening. No record is ever blamed for a
// disk.
//
// At most kOpenFilesMax are open: a further one syncs and closes the one that was used longest ago.
// One thread.
#pragma once

#include <sluice/sink.hpp>

#include <system_error>

#include "lines/line_file.hpp"

namespace sluice::lines {

inline constexpr std::size_t kOpenFilesMax = 256;

/// What is wrong with a path template, nothing if it is fine.
std::optional<std::string> problem_of_template(std::string_view path_template);

/// {topic} and {partition} replaced. Bytes that Kafka does not allow in a topic's name, and the
/// dots of a name of dots only, are written %HH, so that no name climbs out of its folder.
std::string path_of(std::string_view path_template, std::string_view topic, std::int32_t partition);

/// RetriableError for what passes by itself (a full disk, a lock), NotConnected for the rest.
[[noreturn]] void throw_for_host(const std::system_error& error);

class LineFiles {
 public:
  /// Makes sure that it can work: the file, or the folder before the first placeholder. Throws
  /// ConfigError with the key "file".
  LineFiles(std::string path_template, Log log);

  /// Requires: `lines` is empty or ends with LF. Throws RetriableError, NotConnected.
  void append(std::string_view topic, std::int32_t partition, std::string_view lines);

  /// Everything appended is durable when this returns. Throws NotConnected.
  void sync();

 private:
  struct OpenFile {
    std::unique_ptr<LineFile> file;
    std::uint64_t last_use = 0;
  };

  LineFile& open(const std::string& path);
  void close_oldest();

  std::string path_template_;
  Log log_;
  std::map<std::string, OpenFile> open_;
  std::uint64_t uses_ = 0;
};

}  // namespace sluice::lines
