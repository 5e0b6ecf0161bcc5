#include "host/config/entries.hpp"

#include "host/config/values.hpp"

namespace sluice::config {

void Entries::add(std::string key, std::string value, Position position, Problems& problems) {
  const auto refuse = [&](std::string what) {
    problems.add(position, printable(key), std::move(what));
  };
  if (trim(key).empty()) return refuse("a key without a name; take it out");
  for (const char c : key) {
    if (static_cast<unsigned char>(c) < 0x20) return refuse("a key with a control character");
  }
  if (value.find('\0') != std::string::npos) return refuse("its value holds a NUL character");
  if (const Entry* const first = find(key)) {
    // Rule (6): name both places.
    if (first->position.line == 0) return refuse("is written twice; keep one of the two");
    return refuse("is already written at " + std::to_string(first->position.line) + ":" +
                  std::to_string(first->position.column) + "; keep one of the two");
  }
  by_key_.emplace(key, list_.size());
  list_.push_back(Entry{std::move(key), std::move(value), position});
}

const Entry* Entries::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &list_[found->second];
}

Position position_at(std::string_view text, std::size_t offset) {
  Position position{1, 1};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++position.line;
      position.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++position.column;
    }
  }
  return position;
}

}  // namespace sluice::config
