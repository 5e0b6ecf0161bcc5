// The one flat map of string keys that every format becomes (interfaces.md, "One configuration
// vocabulary"), in the order of the file, each key with its position. Reading collects what is
// wrong into Problems and goes on where it can; a text that does not parse at all has one Problem.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "host/config/position.hpp"

namespace sluice::config {

struct Entry {
  std::string key;
  std::string value;
  Position position;
};

class Entries {
 public:
  /// A key that is there already, one without a name or with a NUL in it, becomes a Problem.
  void add(std::string key, std::string value, Position position, Problems& problems);
  const Entry* find(std::string_view key) const;
  const std::vector<Entry>& list() const { return list_; }

 private:
  std::vector<Entry> list_;
  std::map<std::string, std::size_t, std::less<>> by_key_;
};

/// Rules (1) to (7) of interfaces.md. toml_entries.cpp
Entries read_toml(std::string_view text, Problems& problems);
/// Connect's {"name", "config"}, or one flat object. json_entries.cpp
Entries read_json(std::string_view text, Problems& problems);
/// Java's .properties, but a key twice is a Problem, where Java keeps the last.
/// properties_entries.cpp
Entries read_properties(std::string_view text, Problems& problems);

/// The position of byte `offset`; columns count characters, as editors do.
Position position_at(std::string_view text, std::size_t offset);

}  // namespace sluice::config
