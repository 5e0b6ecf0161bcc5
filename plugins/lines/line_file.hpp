// A file of lines that several processes append to, and that survives the death of each at any
// byte.
//
// One append is one write under an OFD lock, which the kernel frees with the process. A process
// killed in the middle of its write leaves a last line without LF; whoever holds the lock next cuts
// it off before it appends, so every line of the file is whole (case B15). Lines that were whole
// before the kill stay: delivery is at least once.
//
// Errors are std::system_error whose text names the step and the path. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::lines {

/// A lock is held for one append; one held so long belongs to a process that was stopped.
inline constexpr int kLockWaitMs = 5000;

class LineFile {
 public:
  /// Opens or creates the file (0640) and its folders (0750).
  explicit LineFile(std::string path, int lock_wait_ms = kLockWaitMs);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  /// Appends whole lines. Returns how many bytes of an unfinished line it cut off before. After an
  /// error nothing was appended. Requires: `lines` ends with LF.
  std::size_t append(std::string_view lines);

  /// Everything appended is durable when this returns. After an error it is unknown what is: the
  /// kernel has dropped the pages, and a second try would succeed without them.
  void sync();

  bool is_dirty() const { return is_dirty_; }
  const std::string& path() const { return path_; }

 private:
  void open();
  void close();
  void follow_the_path();
  off_t cut_unfinished_line(std::size_t& cut_bytes);
  void write_all(std::string_view lines, off_t size_before);

  std::string path_;
  int lock_wait_ms_;
  int fd_ = -1;
  bool is_dirty_ = false;
  bool is_new_ = false;
};

/// Makes the folders that `path` stands in (0750), durably. Throws std::system_error.
void create_folders_of(const std::string& path);

}  // namespace sluice::lines
