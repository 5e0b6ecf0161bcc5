// The store's files in a state directory: they are made once, and a store that was there is never
// silently made anew (slicer.md S7: a job without its frontiers would begin from somewhere).
//
//   state.db   SQLite, WAL, schema kSchemaVersion, PRAGMA application_id kApplicationId
//   store.id   the store's UUID as text: the witness that a store existed
#pragma once

#include <cstdint>
#include <filesystem>

#include "host/base/error.hpp"
#include "host/state/database.hpp"
#include "host/state/files_in_place.hpp"
#include "host/state/state_store.hpp"

namespace sluice::state {

constexpr std::int64_t kSchemaVersion = 5;
constexpr std::int64_t kOldestSchema = 1;            ///< that is migrated when a host opens it
constexpr std::int64_t kApplicationId = 0x534C5543;  // "SLUC", as file(1) may show it

struct OpenedStore {
  Database database;
  StoreIdentity identity;
  FilesInPlace files;
};

/// Opens the writer's connection, making the store if there never was one; checks that it is ours,
/// of this schema, undamaged and the one that store.id names; counts the host's incarnation.
/// Requires: the caller holds the directory's lock.
Result<OpenedStore> open_store_files(const std::filesystem::path& directory);

/// A connection for reading, with the same checks but that of the pages.
Result<Database> open_for_reading(const std::filesystem::path& directory);

}  // namespace sluice::state
