// Rows of text for people and for pipes: on a terminal columns are aligned, numbers to the right;
// in a pipe fields are separated by one tab, so that cut and awk need no guessing. Either way the
// first line names the columns.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

namespace sluice::cli {

enum class Look { Terminal, Pipe };
/// What stdout is.
Look look_of_stdout();

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_{std::move(header)} {}

  /// Requires: as many fields as the header. Control characters are shown as spaces.
  void add(std::vector<std::string> fields);
  bool empty() const { return rows_.empty(); }
  void print(std::ostream& out, Look look) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sluice::cli
