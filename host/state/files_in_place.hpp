// Notices when the store's files are deleted or replaced under a running host: SQLite would go on
// writing into files that have no name any more, and every commit would be acknowledged and lost.
//
// By device and inode, as they were when the store was opened: two stats (1 us each) beside a sync
// of milliseconds. Cannot see a file that is written to by others; that is what DirectoryLock is
// for.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::state {

class FilesInPlace {
 public:
  /// Requires: all of them exist.
  static Result<FilesInPlace> remember(std::vector<std::filesystem::path> files);

  /// An Error of code Store if one of them is gone or another one by now.
  Result<> check() const;

 private:
  struct Known {
    std::filesystem::path file;
    dev_t device = 0;
    ino_t inode = 0;
  };

  std::vector<Known> known_;
};

}  // namespace sluice::state
