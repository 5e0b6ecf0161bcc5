#include "host/state/files_in_place.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace sluice::state {

Result<FilesInPlace> FilesInPlace::remember(std::vector<std::filesystem::path> files) {
  FilesInPlace all;
  for (std::filesystem::path& file : files) {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) return io_error("look at", file.string(), errno);
    all.known_.push_back({std::move(file), found.st_dev, found.st_ino});
  }
  return all;
}

Result<> FilesInPlace::check() const {
  for (const Known& known : known_) {
    struct stat now {};
    if (::stat(known.file.c_str(), &now) == 0 && now.st_dev == known.device &&
        now.st_ino == known.inode) {
      continue;
    }
    return Error{ErrorCode::Store,
                 "state store: " + known.file.string() +
                     ": was deleted or replaced while in use, so what is written is lost; stop the "
                     "host and restore the folder from a backup"};
  }
  return {};
}

}  // namespace sluice::state
