// Reads the query of a request into typed values and remembers the first thing that is wrong with
// it, so that a handler looks once. A key that no handler asked for is an error too: a filter that
// is misspelt must not answer with everything.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "host/base/error.hpp"
#include "host/rest/http.hpp"

namespace sluice::rest {

class QueryReader {
 public:
  explicit QueryReader(const Target& target) : target_{target} {}

  std::optional<std::string> text(const std::string& key);
  std::optional<std::int64_t> number(const std::string& key, std::int64_t least, std::int64_t most);
  std::optional<bool> yes_or_no(const std::string& key);
  /// `key` has a value that no handler can use.
  void refuse(const std::string& key, std::string_view why);

  /// Call when every key has been asked for.
  Result<> finish() const;

 private:
  const Target& target_;
  std::set<std::string> asked_;
  std::string problem_;
};

}  // namespace sluice::rest
