#include "host/worker/json_members.hpp"

#include <algorithm>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>

namespace sluice::worker {

namespace json = boost::json;

void JsonFault::note(std::string_view path, std::string_view why) {
  if (error_) return;
  std::string message = what_;
  message += ": ";
  if (!path.empty()) message.append(path).append(": ");
  message += why;
  error_ = Error{ErrorCode::Incompatible, std::move(message)};
}

JsonMembers::JsonMembers(const json::value& value, std::string path, JsonFault& fault)
    : object_{value.if_object()}, path_{std::move(path)}, fault_{fault} {
  if (object_ == nullptr) fault_.note(path_, "is not an object");
}

JsonMembers::~JsonMembers() {
  if (object_ == nullptr || taken_ == object_->size()) return;
  for (const auto& member : *object_) {
    if (std::find(names_.begin(), names_.end(), member.key()) == names_.end()) {
      fault_.note(path_of(member.key()), "is not a known member");
    }
  }
}

std::string JsonMembers::path_of(std::string_view name) const {
  return path_.empty() ? std::string{name} : path_ + "." + std::string{name};
}

const json::value* JsonMembers::optional(std::string_view name) {
  if (object_ == nullptr) return nullptr;
  const json::value* value = object_->if_contains(name);
  if (value == nullptr) return nullptr;
  ++taken_;
  names_.push_back(name);
  return value;
}

const json::value& JsonMembers::required(std::string_view name) {
  static const json::value kAbsent;
  const json::value* value = optional(name);
  if (value != nullptr) return *value;
  fault_.note(path_of(name), "is missing");
  return kAbsent;
}

std::string JsonMembers::text(std::string_view name) {
  const json::value& value = required(name);
  if (const json::string* text = value.if_string()) return std::string{*text};
  fault_.note(path_of(name), "is not a string");
  return {};
}

std::string JsonMembers::filled_text(std::string_view name) {
  std::string value = text(name);
  if (value.empty()) fault_.note(path_of(name), "is empty");
  return value;
}

std::int64_t JsonMembers::integer(std::string_view name, std::int64_t min, std::int64_t max) {
  const json::value& value = required(name);
  json::error_code failed;
  const auto number = value.to_number<std::int64_t>(failed);
  if (value.is_double() || failed) {
    fault_.note(path_of(name), "is not an integer");
    return min;
  }
  if (number < min || number > max) {
    fault_.note(path_of(name), "is out of range");
    return min;
  }
  return number;
}

std::uint64_t JsonMembers::natural(std::string_view name, std::uint64_t max) {
  const json::value& value = required(name);
  json::error_code failed;
  const auto number = value.to_number<std::uint64_t>(failed);
  if (value.is_double() || failed) {
    fault_.note(path_of(name), "is not a natural number");
    return 0;
  }
  if (number > max) {
    fault_.note(path_of(name), "is out of range");
    return 0;
  }
  return number;
}

std::map<std::string, std::string> JsonMembers::text_map(std::string_view name) {
  std::map<std::string, std::string> map;
  const json::value& value = required(name);
  const json::object* object = value.if_object();
  if (object == nullptr) {
    fault_.note(path_of(name), "is not an object");
    return map;
  }
  for (const auto& member : *object) {
    const json::string* text = member.value().if_string();
    if (text == nullptr) {
      fault_.note(path_of(name) + "." + std::string{member.key()}, "is not a string");
      continue;
    }
    map.emplace(member.key(), *text);
  }
  return map;
}

std::vector<std::pair<std::string, std::string>> JsonMembers::text_pairs(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const json::value& element : array(name)) {
    const json::array* pair = element.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() ||
        !(*pair)[1].is_string()) {
      fault_.note(path_of(name), "has an element that is not a pair of strings");
      return pairs;
    }
    pairs.emplace_back((*pair)[0].get_string(), (*pair)[1].get_string());
  }
  return pairs;
}

const json::array& JsonMembers::array(std::string_view name) {
  static const json::array kEmpty;
  const json::value& value = required(name);
  if (const json::array* array = value.if_array()) return *array;
  fault_.note(path_of(name), "is not an array");
  return kEmpty;
}

json::value parse_json(std::string_view bytes, JsonFault& fault) {
  json::parser parser;
  json::error_code failed;
  const std::size_t used = parser.write_some(bytes.data(), bytes.size(), failed);
  if (failed || used != bytes.size()) {
    fault.note({}, "is not JSON at byte " + std::to_string(used));
    return {};
  }
  return parser.release();
}

}  // namespace sluice::worker
