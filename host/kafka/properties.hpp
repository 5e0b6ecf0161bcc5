// librdkafka properties as the rest of the host carries them: ordered name/value pairs, names as in
// librdkafka's CONFIGURATION.md (host/config has translated Java names already). Later pairs win,
// so "our settings first, then the user's overrides" is a concatenation. Values may hold secrets:
// no message of this folder repeats a value.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::kafka {

using Properties = std::vector<std::pair<std::string, std::string>>;

/// The last value given for `name`, or `otherwise`.
std::string_view find_property(const Properties& properties, std::string_view name,
                               std::string_view otherwise = {});

/// `base` followed by `overrides`.
Properties with_overrides(Properties base, const Properties& overrides);

}  // namespace sluice::kafka
