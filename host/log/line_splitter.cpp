#include "host/log/line_splitter.hpp"

#include <algorithm>

#include "host/base/assert.hpp"
#include "host/log/escape.hpp"

namespace sluice::log {

LineSplitter::LineSplitter(std::size_t line_bytes_max) : line_bytes_max_{line_bytes_max} {
  SLUICE_ASSERT(line_bytes_max > 0);
}

void LineSplitter::feed(std::string_view bytes, const OnLine& on_line) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    keep(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    end_line(on_line);
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::finish(const OnLine& on_line) {
  end_line(on_line);
}

// One byte above the limit is kept, so that end_line() can tell a CR LF that stands exactly at the
// limit from a line that is too long, and cut_utf8 can see whether the cut is inside a character.
void LineSplitter::keep(std::string_view part) {
  const std::size_t room = line_bytes_max_ + 1 - line_.size();
  const std::size_t kept = std::min(room, part.size());
  line_.append(part.substr(0, kept));
  cut_bytes_ += part.size() - kept;
}

void LineSplitter::end_line(const OnLine& on_line) {
  std::string_view text = line_;
  if (cut_bytes_ == 0 && text.ends_with('\r')) text.remove_suffix(1);
  const std::string_view kept = cut_utf8(text, line_bytes_max_);
  const std::uint64_t cut_bytes = cut_bytes_ + (text.size() - kept.size());
  if (!kept.empty()) {
    std::string line;
    append_escaped(line, kept);
    if (cut_bytes > 0) line += " [" + std::to_string(cut_bytes) + " bytes cut]";
    on_line(line);
  }
  line_.clear();
  cut_bytes_ = 0;
}

}  // namespace sluice::log
