#include "host/config/topic_pattern.hpp"

#include <array>
#include <regex>
#include <utility>

#include "host/config/java_pattern.hpp"

namespace sluice::config {
namespace {

constexpr std::array<std::string_view, 3> kInternalTopics{
    "__consumer_offsets", "__transaction_state", "__share_group_state"};

}  // namespace

struct TopicPattern::Compiled {
  std::regex regex;
};

TopicPattern::TopicPattern(std::string text, std::shared_ptr<const Compiled> compiled)
    : text_{std::move(text)}, compiled_{std::move(compiled)} {}

Result<TopicPattern> TopicPattern::compile(const std::string& text) {
  const auto translated = ecmascript_of_java(text);
  if (!translated) return translated.error();
  try {
    const auto syntax = std::regex::ECMAScript | std::regex_constants::__polynomial;
    return TopicPattern{
        text, std::make_shared<const Compiled>(Compiled{std::regex{*translated, syntax}})};
  } catch (const std::regex_error& error) {
    return Error{ErrorCode::Configuration, error.what()};
  }
}

bool TopicPattern::matches(std::string_view topic) const {
  for (const auto internal : kInternalTopics) {
    if (topic == internal) return false;
  }
  return std::regex_match(topic.begin(), topic.end(), compiled_->regex);
}

}  // namespace sluice::config
