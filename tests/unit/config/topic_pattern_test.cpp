// What Java reads in a pattern is read here, or refused with a sentence (cases B03): never another
// choice of topics without a word. What is expected was asked of java.util.regex.
#include "host/config/topic_pattern.hpp"

#include <catch2/catch.hpp>

namespace sluice::config {
namespace {

bool matches(const std::string& pattern, const std::string& topic) {
  CAPTURE(pattern, topic);
  const auto compiled = TopicPattern::compile(pattern);
  if (!compiled) FAIL(compiled.error().message());
  return compiled->matches(topic);
}

std::string refusal_of(const std::string& pattern) {
  const auto compiled = TopicPattern::compile(pattern);
  return compiled ? "taken" : compiled.error().message();
}

}  // namespace

TEST_CASE("what Q and E with a backslash enclose stands for itself, as in Java", "[config]") {
  CHECK(matches("\\Qa.b\\E", "a.b"));
  CHECK_FALSE(matches("\\Qa.b\\E", "axb"));
  CHECK_FALSE(matches("\\Qa.b\\E", "Qa.bE"));
  CHECK(matches("\\Qorders.\\E.*", "orders.eu"));
  CHECK(matches("x\\Q.v1", "x.v1"));    // to the end
  CHECK(matches("\\Qab\\E+", "abbb"));  // the last character alone is repeated
  CHECK(refusal_of("a{\\Q2\\E}").starts_with("{ begins no count"));
  CHECK(matches("[\\Qa-c\\E]", "-"));
  CHECK_FALSE(matches("[\\Qa-c\\E]", "b"));
  CHECK(matches("\\Qd\\E", "d"));
  CHECK_FALSE(matches("\\Qd\\E", "1"));
  CHECK_FALSE(matches("\\\\Qa", "a"));  // an escaped backslash, then Qa
}

TEST_CASE("an escape of Java's that is not known here is refused, not read as its letter",
          "[config]") {
  for (const char* pattern :
       {"\\p{Alpha}+", "\\P{L}", "a\\hb",  "\\H",    "\\R",       "\\X",  "\\N{DOT}", "\\Aa",
        "a\\z",        "a\\Z",   "\\Ga",   "a\\Eb",  "\\ea",      "\\aa", "\\vb",     "\\x2E",
        "\\u002E",     "\\cA",   "\\0101", "(a)\\1", "(a)\\k<n>", "\\yb", "[\\p{L}]", "[\\h]"}) {
    CAPTURE(pattern);
    CHECK(refusal_of(pattern).find(" is not supported; of Java's escapes there are") !=
          std::string::npos);
  }
  CHECK(refusal_of("a\\") == "it ends in a backslash");
}

TEST_CASE("possessive and repeated quantifiers are refused", "[config]") {
  CHECK(refusal_of("a*+b") == "*+ is possessive, which is not supported; take the last + out");
  CHECK(refusal_of("a++") == "++ is possessive, which is not supported; take the last + out");
  CHECK(refusal_of("a?+") == "?+ is possessive, which is not supported; take the last + out");
  CHECK(refusal_of("a{2}+") == "{2}+ is possessive, which is not supported; take the last + out");
  CHECK(refusal_of("a**") == "* repeats what is repeated already");
  CHECK(refusal_of("a{2}{3}") == "{3} repeats what is repeated already");
  CHECK(refusal_of("*a") == "* has nothing before it to repeat");
  CHECK(refusal_of("a|+") == "+ has nothing before it to repeat");
  CHECK(refusal_of("^*a") == "* has nothing before it to repeat");
  CHECK(refusal_of("a{,3}").starts_with("{ begins no count"));
  CHECK(refusal_of("a{x}").starts_with("{ begins no count"));
  CHECK(refusal_of("a{3,2}") == "{3,2} ends below its beginning");
  CHECK(refusal_of("a{1,9999999999}").starts_with("{1,250} is too much"));
  CHECK(matches("a+?b??c*?d{1,2}?", "aabcd"));
  CHECK(matches("a{0}b{2}c{2,}d{1,2}", "bbccccd"));
}

TEST_CASE("classes are Java's, or refused", "[config]") {
  CHECK(refusal_of("[a-z&&[^x]]").starts_with("&& in a class is not supported"));
  CHECK(refusal_of("[a[bc]]").starts_with("a class within a class is not supported"));
  CHECK(refusal_of("[[:alpha:]]").starts_with("a class within a class is not supported"));
  CHECK(refusal_of("[]a]").starts_with("a class begins with ]"));
  CHECK(refusal_of("[^]a]").starts_with("a class begins with ]"));
  CHECK(refusal_of("[]").starts_with("a class begins with ]"));
  CHECK(refusal_of("[a") == "a [ is not closed");
  CHECK(refusal_of("[z-a]") == "z-a ends before it begins");
  CHECK(refusal_of("[a-\\d]") == "a range ends in \\d; write \\- for -");
  CHECK(refusal_of("[\\b]") == "\\b is no member of a class");
  CHECK(matches("[a&b-]+", "a-b"));
  CHECK(matches("[-a]+", "a-"));
  CHECK(matches("[\\w-]+", "a-1_"));
  CHECK(matches("[\\d.-]+", "1.-"));
  CHECK_FALSE(matches("[^\\W_]+", "a_"));
  CHECK(matches("[^x]+", "a.-_1Z"));
  CHECK_FALSE(matches("a[^\\w.\\-]", "a."));
  CHECK(matches("[+--][--a]", "-a"));
  CHECK(matches("[a-c-e]+", "b-e"));
  CHECK_FALSE(matches("[a-c-e]+", "d"));
  CHECK_FALSE(matches("[^\\]]+\\]", "a]x"));
}

TEST_CASE("groups are Java's, or refused", "[config]") {
  for (const char* pattern :
       {"(?i)a", "(?<name>a)", "(?<=a)b", "(?<!a)b", "(?>a)", "(?i:a)", "(?"}) {
    CAPTURE(pattern);
    CHECK(refusal_of(pattern) == "of Java's (?.. groups there are (?: (?= and (?! only");
  }
  CHECK(refusal_of("(a") == "a ( is not closed");
  CHECK(refusal_of("a)") == "a ) closes nothing; write \\) for the character");
  CHECK(refusal_of("(?=a)*a") == "* has nothing before it to repeat");
  CHECK(refusal_of(std::string(10'000, '(')) == "its groups nest too deep");
  CHECK(matches("(?:a|b)(?!x).+", "by"));
  CHECK_FALSE(matches("(?:a|b)(?!x).+", "bx"));
  CHECK(matches("(?!__).*(?=-eu).*", "orders-eu"));
  CHECK(matches("(a|)b", "b"));
}

TEST_CASE("a character that no topic's name has is refused where it is not ASCII", "[config]") {
  CHECK(refusal_of("caf\xC3\xA9*").starts_with("it has a character that no topic's name has"));
  CHECK(refusal_of("a\tb").starts_with("it has a character that no topic's name has"));
  CHECK(refusal_of(std::string("a\0b", 3)).starts_with("it has a character"));
  CHECK(matches("a b|#|]|}|,|a", "a"));
}

TEST_CASE("anchors and boundaries are Java's", "[config]") {
  CHECK(matches("^orders$", "orders"));
  CHECK_FALSE(matches("or^ders", "orders"));
  CHECK(matches(".*\\beu", "orders-eu"));
  CHECK_FALSE(matches(".*\\beu", "orders_eu"));
  CHECK(matches(".*\\Beu", "orders_eu"));
  // The library takes the place where it looks ahead for the beginning.
  CHECK(refusal_of("a(?=^)b") == "^ is not supported in a (?= or (?! group");
  CHECK(refusal_of("a(?!(\\b))b") == "\\b is not supported in a (?= or (?! group");
}

}  // namespace sluice::config
