#include "host/rest/body_reader.hpp"

#include <boost/json/parse.hpp>

namespace sluice::rest {
namespace json = boost::json;

BodyReader::BodyReader(std::string_view body) {
  if (body.empty()) return;
  boost::system::error_code error;
  json::parse_options limits;
  limits.max_depth = 8;
  auto value = json::parse(body, error, {}, limits);
  if (error) {
    problem_ = "body: no JSON: " + error.message();
  } else if (auto* object = value.if_object()) {
    object_ = std::move(*object);
  } else {
    problem_ = "body: must be a JSON object";
  }
}

const json::value* BodyReader::find(const std::string& member) {
  asked_.insert(member);
  return object_.if_contains(member);
}

std::optional<std::string> BodyReader::text(const std::string& member) {
  const auto* value = find(member);
  if (value == nullptr) return std::nullopt;
  if (const auto* string = value->if_string()) return std::string{string->data(), string->size()};
  refuse(member, "must be a string");
  return std::nullopt;
}

std::optional<std::int64_t> BodyReader::number(const std::string& member, std::int64_t least,
                                               std::int64_t most) {
  const auto* value = find(member);
  if (value == nullptr) return std::nullopt;
  const auto* number = value->if_int64();
  if (number != nullptr && *number >= least && *number <= most) return *number;
  refuse(member, "must be a number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<bool> BodyReader::yes_or_no(const std::string& member) {
  const auto* value = find(member);
  if (value == nullptr) return std::nullopt;
  if (const auto* yes = value->if_bool()) return *yes;
  refuse(member, "must be true or false");
  return std::nullopt;
}

void BodyReader::refuse(const std::string& member, std::string_view why) {
  if (problem_.empty()) problem_ = "body: " + member + ": " + std::string{why};
}

Result<> BodyReader::finish() const {
  if (!problem_.empty()) return Error{ErrorCode::Usage, problem_};
  for (const auto& member : object_) {
    const std::string name{member.key()};
    if (!asked_.contains(name)) return Error{ErrorCode::Usage, "body: " + name + ": unknown"};
  }
  return {};
}

}  // namespace sluice::rest
