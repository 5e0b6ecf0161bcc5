#include "host/cli/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "host/base/assert.hpp"

namespace sluice::cli {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789,.-") == std::string::npos;
}

/// In code points: names of topics are ASCII, texts of plugins need not be.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char letter) {
    return (static_cast<unsigned char>(letter) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

Look look_of_stdout() {
  return ::isatty(STDOUT_FILENO) != 0 ? Look::Terminal : Look::Pipe;
}

void Table::add(std::vector<std::string> fields) {
  SLUICE_ASSERT(fields.size() == header_.size(), fields.size(), header_.size());
  for (auto& field : fields) {
    for (char& letter : field) {
      if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7f') letter = ' ';
    }
  }
  rows_.push_back(std::move(fields));
}

void Table::print(std::ostream& out, Look look) const {
  std::vector<const std::vector<std::string>*> lines{&header_};
  for (const auto& row : rows_) lines.push_back(&row);
  std::vector<std::size_t> widths(header_.size());
  for (const auto* line : lines) {
    for (std::size_t i = 0; i < line->size(); ++i) {
      widths[i] = std::max(widths[i], width_of((*line)[i]));
    }
  }
  for (const auto* line : lines) {
    for (std::size_t i = 0; i < line->size(); ++i) {
      const auto& field = (*line)[i];
      const bool last = i + 1 == line->size();
      if (look == Look::Pipe) {
        out << field << (last ? "" : "\t");
        continue;
      }
      const std::string space(widths[i] - width_of(field), ' ');
      if (is_number(field)) {
        out << space << field;
      } else {
        out << field << (last ? std::string{} : space);
      }
      if (!last) out << "  ";
    }
    out << '\n';
  }
}

}  // namespace sluice::cli
