// "Did you mean ...?": the known name that is closest to one that is not known, for messages about
// configuration keys, plugin names and commands. Silent when nothing is close: a wrong guess costs
// more time than none.
#pragma once

#include <span>
#include <string_view>

namespace sluice {

/// The closest of `known`, by edits of one character (a swap of neighbours is one edit); empty when
/// the best needs more than a third of the name's length. Of equals the first.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace sluice
