// Boost.JSON's event parser, not its value: a value keeps the last of two equal keys and no
// positions. It is fed byte by byte, so that a key's position is the place of the last quote that
// opened a string; a job file is a few KB (limit: kFileBytesMax).
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <optional>

#include "host/base/value_syntax.hpp"
#include "host/config/entries.hpp"
#include "host/config/values.hpp"

namespace sluice::config {
namespace {

namespace json = boost::json;
using json::error_code;

struct Pair {
  std::string key;
  std::string value;
  Position position;
};

/// Line and column of the byte that is fed, and of the string that was opened last.
class Cursor {
 public:
  void feed(char c) {
    if (in_string_) {
      if (!escaped_ && c == '"') in_string_ = false;
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      in_string_ = true;
      string_begin_ = here_;
    }
  }
  void advance(char c) {
    if (c == '\n') {
      ++here_.line;
      here_.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++here_.column;
    }
  }
  Position here() const { return here_; }
  Position string_begin() const { return string_begin_; }

 private:
  Position here_{1, 1};
  Position string_begin_{1, 1};
  bool in_string_ = false;
  bool escaped_ = false;
};

/// Takes {"key": scalar}, and one object deep for "config"; anything else becomes a Problem.
class Collector {
 public:
  // What basic_parser asks of its handler.
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);

  Collector(const Cursor& cursor, Problems& problems) : cursor_{cursor}, problems_{problems} {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) {
    ++depth_;
    if (depth_ == 2 && key_ == "config" && !skipping()) {
      in_config_ = true;
      has_config_ = true;
    } else if (depth_ > 1) {
      refuse_nested("an object");
    }
    return true;
  }
  bool on_object_end(std::size_t, error_code&) { return leave(); }
  bool on_array_begin(error_code&) {
    ++depth_;
    if (depth_ == 1) {
      problems_.add(cursor_.here(), {}, kNoObject);
      skip_from_ = 1;
    } else {
      refuse_nested("a list");
    }
    return true;
  }
  bool on_array_end(std::size_t, error_code&) { return leave(); }

  bool on_key_part(json::string_view part, std::size_t, error_code&) { return append(part); }
  bool on_key(json::string_view part, std::size_t, error_code&) {
    append(part);
    if (!skipping()) {
      key_ = text_;
      key_position_ = cursor_.string_begin();
    }
    text_.clear();
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, error_code&) { return append(part); }
  bool on_string(json::string_view part, std::size_t, error_code&) {
    append(part);
    return take(text_);
  }
  bool on_number_part(json::string_view part, error_code&) { return append(part); }
  bool on_int64(std::int64_t, json::string_view part, error_code&) { return number(part); }
  bool on_uint64(std::uint64_t, json::string_view part, error_code&) {
    append(part);
    return too_large();  // Boost.JSON calls this only above the largest signed integer
  }
  bool on_double(double, json::string_view part, error_code&) { return number(part); }
  bool on_bool(bool value, error_code&) { return take(value ? "true" : "false"); }
  bool on_null(error_code&) {
    if (!skipping()) refuse("null is no value; write one, or take the key out");
    return true;
  }
  bool on_comment_part(json::string_view, error_code&) { return true; }
  bool on_comment(json::string_view, error_code&) { return true; }

  bool has_config() const { return has_config_; }
  const std::vector<Pair>& top() const { return top_; }
  const std::vector<Pair>& config() const { return config_; }

 private:
  static constexpr const char* kNoObject =
      "holds no JSON object; write {\"name\": \"...\", \"config\": {...}}";

  bool append(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool skipping() const { return skip_from_ != 0; }
  bool leave() {
    if (skip_from_ == depth_) skip_from_ = 0;
    if (depth_ == 2) in_config_ = false;
    --depth_;
    return true;
  }
  void refuse(std::string what) { problems_.add(key_position_, printable(key_), std::move(what)); }
  void refuse_nested(const char* kind) {
    if (skipping()) return;
    refuse("holds " + std::string{kind} + "; a value is a string, a number, true or false");
    skip_from_ = depth_;
  }
  bool number(json::string_view part) {
    append(part);
    // An integer that Boost.JSON answers as a double does not fit into 64 bits (case B22).
    const bool whole = text_.find_first_not_of("-0123456789") == std::string::npos;
    if (whole && !parse_integer(text_)) return too_large();
    return take(text_);
  }
  bool too_large() {
    if (!skipping()) refuse("is an integer beyond 64 bits");
    text_.clear();
    return true;
  }
  bool take(std::string value) {
    text_.clear();
    if (skipping()) return true;
    if (depth_ == 0) {
      problems_.add(cursor_.here(), {}, kNoObject);
    } else {
      (in_config_ ? config_ : top_).push_back(Pair{key_, std::move(value), key_position_});
    }
    return true;
  }

  const Cursor& cursor_;
  Problems& problems_;
  std::size_t depth_ = 0;
  std::size_t skip_from_ = 0;  ///< depth of what is skipped over; 0: nothing
  bool in_config_ = false;
  bool has_config_ = false;
  std::string text_;
  std::string key_;
  Position key_position_;
  std::vector<Pair> top_;
  std::vector<Pair> config_;
};

/// Feeds everything; the error's position is the byte that was wrong.
bool parse(std::string_view text, json::basic_parser<Collector>& parser, Cursor& cursor,
           Problems& problems) {
  error_code error;
  for (const char c : text) {
    cursor.feed(c);
    const std::size_t taken = parser.write_some(true, &c, 1, error);
    if (!error && taken == 0) error = make_error_code(json::error::extra_data);
    if (error) break;
    cursor.advance(c);
  }
  if (!error && !parser.done()) parser.write_some(false, nullptr, 0, error);
  if (error) problems.add(cursor.here(), {}, "not JSON: " + error.message());
  return !error;
}

/// Connect's shape: `name` beside `config` (which may repeat it), and nothing else.
Entries from_wrapped(const Collector& read, Problems& problems) {
  Entries entries;
  for (const Pair& pair : read.config()) {
    entries.add(pair.key, pair.value, pair.position, problems);
  }
  for (const Pair& pair : read.top()) {
    if (pair.key == "initial_state") {
      problems.add(pair.position, pair.key, "not supported yet; take it out");
      continue;
    }
    if (pair.key != "name") {
      problems.add(pair.position, printable(pair.key),
                   "unknown beside \"config\"; move it into \"config\", or take it out");
      continue;
    }
    const Entry* const inner = entries.find("name");
    if (inner == nullptr) {
      entries.add(pair.key, pair.value, pair.position, problems);
    } else if (trim(inner->value) != trim(pair.value)) {
      problems.add(inner->position, "name",
                   in_quotes(inner->value) + " in \"config\" is not the name beside it, " +
                       in_quotes(pair.value) + "; take one of the two out");
    }
  }
  return entries;
}

}  // namespace

Entries read_json(std::string_view text, Problems& problems) {
  Cursor cursor;
  json::basic_parser<Collector> parser{json::parse_options{}, cursor, problems};
  Entries entries;
  if (!parse(text, parser, cursor, problems)) return entries;
  const Collector& read = parser.handler();
  if (read.has_config()) return from_wrapped(read, problems);
  for (const Pair& pair : read.top()) {
    entries.add(pair.key, pair.value, pair.position, problems);
  }
  return entries;
}

}  // namespace sluice::config
