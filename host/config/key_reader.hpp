// Entries in, a struct's members out, by a key table: the step that jobs and the host's file have
// in common. What is written is checked, what is not gets its default; both are listed as they
// hold. Keys that no row names are left to the caller.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/config/entries.hpp"
#include "host/config/key_spec.hpp"

namespace sluice::config {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// Takes every key of the table that is written, else its default. `effective` gets what holds, in
/// the order of the table; keys that nothing honours yet are left out of it.
template <typename Config, typename IsPattern>
void read_keys(std::span<const BoundKey<Config>> table, IsPattern is_pattern,
               const Entries& entries, Config& config, TextPairs& effective, Problems& problems) {
  for (const BoundKey<Config>& key : table) {
    const KeySpec& spec = key.spec;
    if (is_pattern(spec.name)) continue;
    const Entry* const entry = entries.find(spec.name);
    if (entry == nullptr && spec.fallback.empty()) continue;
    auto value =
        entry != nullptr ? parse_value(spec, entry->value) : Result<Value>{parse_fallback(spec)};
    if (!value) {
      problems.add(entry->position, entry->key, value.error().message());
      continue;
    }
    if (spec.honoured != kNoValue) {
      effective.emplace_back(spec.name, canonical(spec, *value));
    }
    assign(key, config, *std::move(value));
  }
}

}  // namespace sluice::config
