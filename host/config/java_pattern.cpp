#include "host/config/java_pattern.hpp"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::config {
namespace {

constexpr std::size_t kNesting = 50;
constexpr int kNameBytesMax = 249;
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

using Characters = std::bitset<128>;

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Error refusal(std::string why) {
  return {ErrorCode::Configuration, std::move(why)};
}

/// A character as it stands, or as an escape had it.
struct Token {
  char character = 0;
  bool escaped = false;  ///< with a backslash, or between \Q and \E
  bool quoted = false;   ///< between \Q and \E, where letters stand for themselves
  bool is(char c) const { return !escaped && character == c; }
  bool is_class_escape() const {
    return escaped && !quoted && std::string_view{"dDwWsS"}.find(character) != std::string::npos;
  }
};

/// Java resolves \Q and \E before anything else, in classes too: no `-` or `&&` is one in there.
Result<std::vector<Token>> tokens_of(std::string_view pattern) {
  std::vector<Token> tokens;
  bool quoting = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c < ' ' || c > '~') {
      return refusal("it has a character that no topic's name has: write A-Z a-z 0-9 . _ - only");
    }
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (quoting && c == '\\' && next == 'E') {
      quoting = false;
      ++i;
    } else if (quoting) {
      tokens.push_back({c, true, true});
    } else if (c != '\\') {
      tokens.push_back({c, false, false});
    } else if (next == 'Q') {
      quoting = true;
      ++i;
    } else if (next == '\0') {
      return refusal("it ends in a backslash");
    } else if (is_alphanumeric(next) &&
               std::string_view{"dDwWsSbB"}.find(next) == std::string_view::npos) {
      return refusal(std::string{"\\"} + next +
                     " is not supported; of Java's escapes there are \\d \\w \\s \\b, the same in "
                     "capitals, \\Q..\\E, and a backslash before what is no letter or digit");
    } else {
      tokens.push_back({next, true, false});
      ++i;
    }
  }
  return tokens;
}

Characters range(char first, char last) {
  Characters set;
  for (int c = first; c <= last; ++c) set.set(static_cast<std::size_t>(c));
  return set;
}

Characters class_of_escape(char letter) {
  const Characters digits = range('0', '9');
  switch (letter) {
    case 'd':
      return digits;
    case 'D':
      return ~digits;
    case 'w':
    case 'W': {
      const Characters word = digits | range('a', 'z') | range('A', 'Z') | range('_', '_');
      return letter == 'w' ? word : ~word;
    }
    case 's':
    case 'S': {
      const Characters space = range('\t', '\r') | range(' ', ' ');
      return letter == 's' ? space : ~space;
    }
    default:
      return {};
  }
}

/// Those of a topic's name, one by one; what matches nothing where there are none.
std::string text_of(const Characters& set) {
  std::string text;
  for (const char c : kNameCharacters) {
    if (set.test(static_cast<std::size_t>(c))) text += c;
  }
  return text.empty() ? "[^\\s\\S]" : "[" + text + "]";  // the - is last
}

class Translation {
 public:
  explicit Translation(std::vector<Token> tokens) : tokens_{std::move(tokens)} {}

  Result<std::string> run() {
    while (at_ < tokens_.size()) SLUICE_TRY(take(tokens_[at_++]));
    if (!groups_.empty()) return refusal("a ( is not closed");
    return std::move(out_);
  }

 private:
  enum class Group { Plain, LookAhead };
  enum class Last { Nothing, Atom, Quantifier };

  bool next_is(char c) const { return at_ < tokens_.size() && tokens_[at_].is(c); }

  Result<> take(Token token) {
    if (token.escaped) return take_escaped(token);
    switch (token.character) {
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '[':
        return take_class();
      case '*':
      case '+':
      case '?':
        return take_quantifier(std::string(1, token.character));
      case '{':
        return take_count();
      case '^':
        return take_boundary("^");
      case '|':
      case '$':
        out_ += token.character;
        last_ = Last::Nothing;
        return {};
      case '.':
        out_ += '.';
        last_ = Last::Atom;
        return {};
      default:
        take_literal(token.character);
        return {};
    }
  }

  void take_literal(char c) {
    if (!is_alphanumeric(c) && c != '_' && c != '-') out_ += '\\';
    out_ += c;
    last_ = Last::Atom;
  }

  Result<> take_escaped(Token token) {
    if (token.is_class_escape()) {
      out_ += text_of(class_of_escape(token.character));
      last_ = Last::Atom;
    } else if (!token.quoted && (token.character == 'b' || token.character == 'B')) {
      return take_boundary(std::string{"\\"} + token.character);
    } else {
      take_literal(token.character);
    }
    return {};
  }

  /// The library looks ahead as if the text began there.
  Result<> take_boundary(const std::string& text) {
    if (std::find(groups_.begin(), groups_.end(), Group::LookAhead) != groups_.end()) {
      return refusal(text + " is not supported in a (?= or (?! group");
    }
    out_ += text;
    last_ = Last::Nothing;
    return {};
  }

  Result<> open_group() {
    auto group = Group::Plain;
    out_ += '(';
    if (next_is('?')) {
      const auto kind = at_ + 1 < tokens_.size() ? tokens_[at_ + 1] : Token{};
      if (!kind.is(':') && !kind.is('=') && !kind.is('!')) {
        return refusal("of Java's (?.. groups there are (?: (?= and (?! only");
      }
      if (!kind.is(':')) group = Group::LookAhead;
      out_ += std::string{"?"} + kind.character;
      at_ += 2;
    }
    groups_.push_back(group);
    if (groups_.size() > kNesting) return refusal("its groups nest too deep");
    last_ = Last::Nothing;
    return {};
  }

  Result<> close_group() {
    if (groups_.empty()) return refusal("a ) closes nothing; write \\) for the character");
    out_ += ')';
    last_ = groups_.back() == Group::LookAhead ? Last::Nothing : Last::Atom;
    groups_.pop_back();
    return {};
  }

  Result<> take_quantifier(const std::string& text) {
    if (last_ == Last::Quantifier) return refusal(text + " repeats what is repeated already");
    if (last_ == Last::Nothing) return refusal(text + " has nothing before it to repeat");
    if (next_is('+')) {
      return refusal(text + "+ is possessive, which is not supported; take the last + out");
    }
    out_ += text;
    if (next_is('?')) ++at_;  // as few as possible: the same whole names
    last_ = Last::Quantifier;
    return {};
  }

  Result<> take_count() {
    const Error malformed = refusal("{ begins no count such as {3}, {3,} or {3,5}; write \\{");
    const auto least = number();
    if (!least) return malformed;
    auto most = least;
    std::string text = "{" + std::to_string(*least);
    if (next_is(',')) {
      ++at_;
      most = number();
      text += "," + (most ? std::to_string(*most) : std::string{});
    }
    if (!next_is('}')) return malformed;
    ++at_;
    if (most.value_or(*least) < *least) return refusal(text + "} ends below its beginning");
    if (most.value_or(*least) > kNameBytesMax) {
      return refusal(text + "} is too much: a topic's name has at most 249 characters");
    }
    return take_quantifier(text + "}");
  }

  std::optional<int> number() {
    int value = 0;
    const std::size_t from = at_;
    for (; at_ < tokens_.size() && !tokens_[at_].escaped && is_digit(tokens_[at_].character);
         ++at_) {
      value = std::min(value * 10 + (tokens_[at_].character - '0'), kNameBytesMax + 1);
    }
    return at_ == from ? std::nullopt : std::optional{value};
  }

  Result<> take_class() {
    const bool negated = next_is('^');
    if (negated) ++at_;
    if (next_is(']')) return refusal("a class begins with ]; write \\] for the character");
    Characters set;
    while (!next_is(']')) {
      if (at_ >= tokens_.size()) return refusal("a [ is not closed");
      SLUICE_TRY(take_member(set));
    }
    ++at_;
    out_ += text_of(negated ? ~set : set);
    last_ = Last::Atom;
    return {};
  }

  /// A character, a range, or one of \d and its like.
  Result<> take_member(Characters& set) {
    const Token first = tokens_[at_++];
    SLUICE_TRY(check_member(first));
    if (first.is_class_escape()) {
      set |= class_of_escape(first.character);
      return {};
    }
    const bool is_range = next_is('-') && at_ + 1 < tokens_.size() && !tokens_[at_ + 1].is(']');
    if (!is_range) {
      set |= range(first.character, first.character);
      return {};
    }
    const Token last = tokens_[at_ + 1];
    at_ += 2;
    SLUICE_TRY(check_member(last));
    const auto text = std::string(1, first.character) + "-" + last.character;
    if (last.is_class_escape()) {
      return refusal("a range ends in \\" + std::string(1, last.character) + "; write \\- for -");
    }
    if (last.character < first.character) return refusal(text + " ends before it begins");
    set |= range(first.character, last.character);
    return {};
  }

  Result<> check_member(Token token) const {
    if (token.is('[')) {
      return refusal("a class within a class is not supported; write \\[ for the character");
    }
    if (token.is('&') && next_is('&')) {
      return refusal("&& in a class is not supported; write \\& for the character");
    }
    if (token.escaped && !token.quoted && (token.character == 'b' || token.character == 'B')) {
      return refusal("\\" + std::string(1, token.character) + " is no member of a class");
    }
    return {};
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<Group> groups_;
  Last last_ = Last::Nothing;
};

}  // namespace

Result<std::string> ecmascript_of_java(std::string_view pattern) {
  auto tokens = tokens_of(pattern);
  if (!tokens) return tokens.error();
  return Translation{*std::move(tokens)}.run();
}

}  // namespace sluice::config
