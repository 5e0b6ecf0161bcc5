// The StateStore of production: one SQLite file in the state directory, written in transactions
// that are synced before they are answered (WAL, synchronous=FULL). Reasons for merged rows and
// group commit, with their measurements: slicer.md R3.
//
// Made from the directory's lock, so that nobody writes without it; the lock must outlive the
// store. One thread at a time.
#pragma once

#include <memory>

#include "host/state/directory_lock.hpp"
#include "host/state/state_store.hpp"

namespace sluice::state {

/// The names of the files are in store_files.hpp.
Result<std::unique_ptr<StateStore>> open_sqlite_store(const DirectoryLock& lock);

}  // namespace sluice::state
