// `topics.regex`: which topics a job reads, by a pattern that must match the whole name, as in
// Kafka Connect (a client's own subscription to "^FTX" would also take FTX-old; cases B03).
//
// Java's expressions, as far as names need them (literals, classes, groups, |, *, +, ?, {n,m});
// what would mean something else here is refused (java_pattern.hpp). Without back-references, so
// that a match takes polynomial time. Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "host/base/error.hpp"

namespace sluice::config {

class TopicPattern {
 public:
  /// Configuration, with the reason, where the text is no such expression.
  static Result<TopicPattern> compile(const std::string& text);

  /// The whole name. Kafka's internal topics (`__consumer_offsets` ...) never match, as with
  /// Connect's consumers.
  bool matches(std::string_view topic) const;
  const std::string& text() const { return text_; }

 private:
  struct Compiled;  // <regex> costs every file that includes it a second
  TopicPattern(std::string text, std::shared_ptr<const Compiled> compiled);

  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace sluice::config
