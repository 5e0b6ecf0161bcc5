// toml++ is used in this file only. TOML_EXCEPTIONS=0: its errors come back as values.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "host/config/entries.hpp"
#include "host/config/values.hpp"

namespace sluice::config {
namespace {

Position to_position(const toml::source_region& source) {
  return Position{source.begin.line, source.begin.column};
}

std::string shortest(double value) {
  char text[32];
  const auto [end, code] = std::to_chars(text, text + sizeof text, value);
  return code == std::errc{} ? std::string{text, end} : std::string{};
}

/// Rule (5): a scalar's text. None for what has no place in a map of strings.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  const auto* real = node.as_floating_point();
  if (real != nullptr && std::isfinite(real->get())) return shortest(real->get());
  return std::nullopt;
}

std::string_view kind_name(const toml::node& node) {
  if (node.is_array()) return "a list";
  if (node.is_table()) return "a table";
  if (node.is_floating_point()) return "inf or nan";
  return "a date or time";
}

class Flattener {
 public:
  Flattener(std::string_view text, Problems& problems) : text_{text}, problems_{problems} {}

  /// In the order of the file: toml++ keeps its tables sorted by key.
  Entries entries() {
    std::stable_sort(read_.begin(), read_.end(),
                     [](const Entry& a, const Entry& b) { return a.position < b.position; });
    Entries entries;
    for (Entry& entry : read_) {
      entries.add(std::move(entry.key), std::move(entry.value), entry.position, problems_);
    }
    return entries;
  }

  /// Rule (1): tables flatten with dots; rule (2): a quoted key is taken as written.
  void table(const toml::table& table, const std::string& prefix) {
    for (auto&& [key, node] : table) {
      value(prefix + std::string{key.str()}, node, key_start(key.source()));
    }
  }

 private:
  void value(const std::string& key, const toml::node& node, Position position) {
    if (const auto* table_node = node.as_table()) return table(*table_node, key + ".");
    if (const auto* list = node.as_array()) {
      const bool may_hold_tables = key == "transforms" || key == "predicates";
      if (may_hold_tables && !list->empty() && list->get(0)->is_table()) {
        return named_tables(key, *list, position);
      }
      return scalars(key, *list, position);
    }
    if (auto text = scalar_text(node)) {
      read_.push_back(Entry{key, *std::move(text), position});
      return;
    }
    problems_.add(position, printable(key),
                  "holds " + std::string{kind_name(node)} + "; write a string in quotes");
  }

  /// Rules (4) and (7): a list of scalars, joined with commas.
  void scalars(const std::string& key, const toml::array& list, Position position) {
    std::string joined;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const toml::node& node = *list.get(i);
      const auto refuse = [&](std::string what) {
        problems_.add(to_position(node.source()), printable(key),
                      "element " + std::to_string(i + 1) + what);
      };
      const auto text = scalar_text(node);
      if (!text) {
        return refuse(" is " + std::string{kind_name(node)} + "; a list holds strings, numbers, " +
                      "true or false");
      }
      if (text->find(',') != std::string::npos) {
        return refuse(" has a comma, which separates elements; it cannot stand in a list");
      }
      if (trim(*text).empty()) return refuse(" is empty; take it out");
      if (i > 0) joined += ',';
      joined += *text;
    }
    read_.push_back(Entry{key, std::move(joined), position});
  }

  /// Rule (3): a list of tables with names. The list's key becomes the names in order.
  void named_tables(const std::string& key, const toml::array& list, Position position) {
    std::string names;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const toml::table* const element = list.get(i)->as_table();
      const auto place = to_position(list.get(i)->source());
      const auto refuse = [&](std::string what) {
        problems_.add(place, key, "element " + std::to_string(i + 1) + what);
      };
      if (element == nullptr) {
        refuse(" is no table; write { name = \"...\", type = \"...\" }");
        continue;
      }
      const toml::node* const name_node = element->get("name");
      const auto name = name_node != nullptr ? scalar_text(*name_node) : std::nullopt;
      if (!name || trim(*name).empty() || name->find(',') != std::string::npos) {
        refuse(" has no name; write name = \"...\", without a comma");
        continue;
      }
      if (!names.empty()) names += ',';
      names += *name;
      named_table(*element, key + "." + *name + ".");
    }
    read_.push_back(Entry{key, std::move(names), position});
  }

  void named_table(const toml::table& table, const std::string& prefix) {
    for (auto&& [key, node] : table) {
      if (key.str() == "name") continue;
      value(prefix + std::string{key.str()}, node, key_start(key.source()));
    }
  }

  /// Where a dotted key begins: toml++ gives the place of its last part, people look for the first.
  Position key_start(const toml::source_region& source) {
    Position position = to_position(source);
    const std::string_view line = line_text(position.line);
    if (position.column == 0 || position.column > line.size()) return position;
    for (const char c : line.substr(0, position.column)) {
      if (static_cast<unsigned char>(c) >= 0x80) return position;  // columns are characters
    }
    std::size_t at = position.column - 1;
    while (const std::size_t before = start_of_part_before(line, at)) at = before - 1;
    position.column = static_cast<std::uint32_t>(at + 1);
    return position;
  }

  /// 1 + the offset of the part before the dot that stands before `at`; 0: there is none.
  static std::size_t start_of_part_before(std::string_view line, std::size_t at) {
    const auto skip_blanks = [&] {
      while (at > 0 && (line[at - 1] == ' ' || line[at - 1] == '\t')) --at;
    };
    skip_blanks();
    if (at == 0 || line[at - 1] != '.') return 0;
    --at;
    skip_blanks();
    if (at == 0) return 0;
    const char quote = line[at - 1];
    if (quote == '"' || quote == '\'') {
      const std::size_t open = at < 2 ? std::string_view::npos : line.rfind(quote, at - 2);
      return open == std::string_view::npos ? 0 : open + 1;
    }
    std::size_t begin = at;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(line[begin - 1])) != 0 ||
                         line[begin - 1] == '_' || line[begin - 1] == '-')) {
      --begin;
    }
    return begin == at ? 0 : begin + 1;
  }

  /// Keys come roughly in the order of the file, so the search goes on from the last line asked
  /// for.
  std::string_view line_text(std::uint32_t number) {
    if (number < line_number_) line_number_ = 1, line_begin_ = 0;
    for (; line_number_ < number; ++line_number_) {
      const std::size_t newline = text_.find('\n', line_begin_);
      if (newline == std::string_view::npos) return {};
      line_begin_ = newline + 1;
    }
    return text_.substr(line_begin_, text_.find('\n', line_begin_) - line_begin_);
  }

  std::string_view text_;
  Problems& problems_;
  std::vector<Entry> read_;
  std::uint32_t line_number_ = 1;
  std::size_t line_begin_ = 0;
};

/// toml++ says "Error while parsing key-value pair: cannot redefine ...": the cause is enough.
std::string parse_error_text(std::string_view description) {
  constexpr std::string_view kNoise = "Error while parsing ";
  std::string what{description};
  if (description.starts_with(kNoise)) {
    const std::size_t colon = description.find(": ");
    if (colon != std::string_view::npos) what = description.substr(colon + 2);
  }
  if (description.find("cannot redefine existing") != std::string_view::npos) {
    what +=
        "; a key or table stands once, and a key that is also the beginning of another one is "
        "written in quotes: \"key.converter\" = \"x\" beside \"key.converter.schemas.enable\" = "
        "false";
  }
  return what;
}

}  // namespace

Entries read_toml(std::string_view text, Problems& problems) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    problems.add(to_position(error.source()), {}, parse_error_text(error.description()));
    return {};
  }
  Flattener flattener{text, problems};
  flattener.table(parsed.table(), {});
  return flattener.entries();
}

}  // namespace sluice::config
