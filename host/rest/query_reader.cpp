#include "host/rest/query_reader.hpp"

#include "host/base/value_syntax.hpp"

namespace sluice::rest {

std::optional<std::string> QueryReader::text(const std::string& key) {
  asked_.insert(key);
  const auto found = target_.query.find(key);
  if (found == target_.query.end()) return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> QueryReader::number(const std::string& key, std::int64_t least,
                                                std::int64_t most) {
  const auto value = text(key);
  if (!value) return std::nullopt;
  const auto number = parse_integer(*value);
  if (!number || *number < least || *number > most) {
    refuse(key, "must be a number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  return *number;
}

std::optional<bool> QueryReader::yes_or_no(const std::string& key) {
  const auto value = text(key);
  if (!value) return std::nullopt;
  const auto parsed = parse_bool(*value);
  if (parsed) return *parsed;
  refuse(key, "must be true or false");
  return std::nullopt;
}

void QueryReader::refuse(const std::string& key, std::string_view why) {
  if (problem_.empty()) problem_ = "query " + key + ": " + std::string{why};
}

Result<> QueryReader::finish() const {
  if (!problem_.empty()) return Error{ErrorCode::Usage, problem_};
  for (const auto& [key, value] : target_.query) {
    if (!asked_.contains(key)) return Error{ErrorCode::Usage, "query " + key + ": unknown"};
  }
  return {};
}

}  // namespace sluice::rest
