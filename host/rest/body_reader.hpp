// Reads a request's JSON object into typed values, as QueryReader reads its query: the first thing
// that is wrong is remembered, and a member that no handler asked for is wrong too. No body at all
// is an empty object.
// Pure; nothing of the request is kept.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "host/base/error.hpp"

namespace sluice::rest {

class BodyReader {
 public:
  explicit BodyReader(std::string_view body);

  std::optional<std::string> text(const std::string& member);
  std::optional<std::int64_t> number(const std::string& member, std::int64_t least,
                                     std::int64_t most);
  std::optional<bool> yes_or_no(const std::string& member);
  void refuse(const std::string& member, std::string_view why);

  /// Call when every member has been asked for.
  Result<> finish() const;

 private:
  const boost::json::value* find(const std::string& member);

  boost::json::object object_;
  std::set<std::string> asked_;
  std::string problem_;
};

}  // namespace sluice::rest
