// `topics.regex` is Java's: Kafka Connect hands it to java.util.regex, and a job that moves here
// brings it along. What our library (std::regex, ECMAScript) reads differently would silently
// choose other topics: to it `\Qa.b\E` is "QaXbE", `\h` an h, `a++` two quantifiers and `[a&&b]`
// three characters. So only what means the same in both goes through; `\Q..\E` and classes are
// written anew, for the 64 characters that a topic's name has; anything else is refused with a
// sentence.
//
// Pure. What is let through is ASCII, and nests and repeats within bounds.
#pragma once

#include <string>
#include <string_view>

#include "host/base/error.hpp"

namespace sluice::config {

/// An ECMAScript expression that matches the same topics' names as a whole. The Error's message is
/// the reason alone.
Result<std::string> ecmascript_of_java(std::string_view pattern);

}  // namespace sluice::config
