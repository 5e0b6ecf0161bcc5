// One list of columns per row type; the visitor decides whether it names, binds or reads them, so
// that an INSERT and its SELECT cannot drift apart. The names are those of schema.hpp. Inside this
// folder only.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "host/state/database.hpp"
#include "host/state/rows.hpp"

namespace sluice::state {

template <typename Row, typename Visitor>
void visit_counts(Row& row, Visitor& visit) {
  visit("records_in", row.in);
  visit("records_out", row.out);
  visit("records_filtered", row.filtered);
  visit("records_errant", row.errant);
  visit("bytes", row.bytes);
}

template <typename Row, typename Visitor>
requires std::is_same_v<std::remove_const_t<Row>, PartitionRow>
void visit_columns(Row& row, Visitor& visit) {
  visit("topic", row.topic);
  visit("partition", row.partition);
  visit("lane", row.lane);
  visit("topic_incarnation", row.topic_incarnation);
  visit("epoch", row.epoch);
  visit("start_offset", row.start_offset);
  visit("frontier", row.frontier);
  visit("worker_slot", row.worker_slot);
  visit("once_end", row.once_end);
  visit("slices_settled", row.slices_settled);
  visit_counts(row.totals, visit);
  visit("fingerprints", row.fingerprints);
  visit("lowered_from", row.lowered_from);
}

template <typename Row, typename Visitor>
requires std::is_same_v<std::remove_const_t<Row>, SliceRow>
void visit_columns(Row& row, Visitor& visit) {
  visit("id", row.id);
  visit("execution", row.execution);
  visit("topic", row.topic);
  visit("partition", row.partition);
  visit("lane", row.lane);
  visit("topic_incarnation", row.topic_incarnation);
  visit("start_offset", row.start);
  visit("end_offset", row.end);
  visit("epoch", row.epoch);
  visit("attempt", row.attempt);
  visit("worker_slot", row.worker.slot);
  visit("worker_pid", row.worker.pid);
  visit("worker_incarnation", row.worker.incarnation);
  visit("state", row.state);
  visit("halted", row.halted);
  visit("stable", row.stable);
  visit("slice_count", row.slice_count);
  visit_counts(row.counts, visit);
  visit("fetch_us", row.times.fetch_us);
  visit("process_us", row.times.process_us);
  visit("put_us", row.times.put_us);
  visit("flush_us", row.times.flush_us);
  visit("state_us", row.times.state_us);
  visit("wait_us", row.times.wait_us);
  visit("created_ms", row.created_ms);
  visit("dispatched_ms", row.dispatched_ms);
  visit("settled_ms", row.settled_ms);
  visit("cause", row.cause);
  visit("excluded", row.excluded);
  visit.error(row.error);
}

template <typename Row, typename Visitor>
requires std::is_same_v<std::remove_const_t<Row>, GapRow>
void visit_columns(Row& row, Visitor& visit) {
  visit("execution", row.execution);
  visit("topic", row.topic);
  visit("partition", row.partition);
  visit("lane", row.lane);
  visit("topic_incarnation", row.topic_incarnation);
  visit("start_offset", row.start);
  visit("end_offset", row.end);
  visit("cause", row.cause);
  visit("records_max", row.records_max);
  visit("slice_id", row.slice_id);
  visit("at_ms", row.at_ms);
  visit("detail", row.detail);
}

template <typename Row, typename Visitor>
requires std::is_same_v<std::remove_const_t<Row>, ExecutionRow>
void visit_columns(Row& row, Visitor& visit) {
  visit("number", row.number);
  visit("mode", row.mode);
  visit("state", row.state);
  visit("started_ms", row.started_ms);
  visit("ended_ms", row.ended_ms);
  visit("reason", row.reason);
}

template <typename Row, typename Visitor>
requires std::is_same_v<std::remove_const_t<Row>, FirstCountRow>
void visit_columns(Row& row, Visitor& visit) {
  visit("topic", row.topic);
  visit("topic_incarnation", row.topic_incarnation);
  visit("count", row.count);
}

/// The largest number of each enum that is stored.
constexpr std::int64_t last_value(SliceState) {
  return static_cast<int>(SliceState::Skipped);
}
constexpr std::int64_t last_value(Cause) {
  return static_cast<int>(Cause::Recreated);
}
constexpr std::int64_t last_value(ExecutionState) {
  return static_cast<int>(ExecutionState::Stopped);
}
constexpr std::int64_t last_value(ExecutionMode) {
  return static_cast<int>(ExecutionMode::Once);
}

constexpr std::array kErrorColumns = {"error_stage", "error_plugin", "error_code", "error_message"};

/// Columns that say which row it is: equal whenever the row comes again. Set anyway, they would
/// make SQLite rewrite the key (a commit of 10,000 lanes: 210 ms instead of 185).
constexpr bool is_identity(std::string_view column) {
  return column == "id" || column == "number" || column == "topic" || column == "partition" ||
         column == "lane";
}

/// `topic, partition, ...`, as many `?`, and `frontier = excluded.frontier, ...`: for SELECT,
/// INSERT and an update in place.
struct ColumnNames {
  std::string names;
  std::string marks;
  std::string updates;

  template <typename T>
  void operator()(const char* name, const T&) {
    if (!names.empty()) names += ", ", marks += ", ";
    names += name;
    marks += '?';
    if (is_identity(name)) return;
    if (!updates.empty()) updates += ", ";
    updates += std::string{name} + " = excluded." + name;
  }
  void error(const std::optional<SliceError>&) {
    for (const char* const name : kErrorColumns) (*this)(name, 0);
  }
};

template <typename Row>
ColumnNames columns_of() {
  ColumnNames columns;
  const Row row;
  visit_columns(row, columns);
  return columns;
}

/// Binds a row's columns from `index` on.
class ColumnBinder {
 public:
  ColumnBinder(Statement& statement, int index) : statement_{statement}, index_{index} {}

  template <typename T>
  void operator()(const char*, const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      statement_.bind(index_++, std::string_view{value});
    } else {
      statement_.bind(index_++, static_cast<std::int64_t>(value));
    }
  }
  void operator()(const char*, const std::optional<std::int64_t>& value) {
    value ? statement_.bind(index_++, *value) : statement_.bind_null(index_++);
  }
  void error(const std::optional<SliceError>& value) {
    if (!value) {
      for (std::size_t i = 0; i < kErrorColumns.size(); ++i) statement_.bind_null(index_++);
      return;
    }
    (*this)("", value->stage);
    (*this)("", value->plugin);
    (*this)("", value->code);
    (*this)("", value->message);
  }

  int next_index() const { return index_; }

 private:
  Statement& statement_;
  int index_;
};

/// Reads a row's columns from `index` on. The file is not trusted: a number that the member cannot
/// hold makes good() false.
class ColumnReader {
 public:
  ColumnReader(const Statement& statement, int index) : statement_{statement}, index_{index} {}

  template <typename T>
  void operator()(const char*, T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      value = statement_.text(index_++);
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(within(0, last_value(T{})));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = within(0, 1) != 0;
    } else if constexpr (sizeof(T) == 8) {
      // Unsigned ones are counts and ids: far below 2^63 unless the file is damaged.
      value =
          static_cast<T>(within(std::is_signed_v<T> ? std::numeric_limits<std::int64_t>::min() : 0,
                                std::numeric_limits<std::int64_t>::max()));
    } else {
      value = static_cast<T>(within(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }
  void operator()(const char*, std::optional<std::int64_t>& value) {
    if (!statement_.is_null(index_)) value = statement_.integer(index_);
    ++index_;
  }
  void error(std::optional<SliceError>& value) {
    if (statement_.is_null(index_)) {
      index_ += static_cast<int>(kErrorColumns.size());
      return;
    }
    value.emplace();
    (*this)("", value->stage);
    (*this)("", value->plugin);
    (*this)("", value->code);
    (*this)("", value->message);
  }

  bool good() const { return good_; }

 private:
  std::int64_t within(std::int64_t least, std::int64_t most) {
    const std::int64_t number = statement_.integer(index_++);
    if (number >= least && number <= most) return number;
    good_ = false;
    return 0;
  }

  const Statement& statement_;
  int index_;
  bool good_ = true;
};

/// All rows that are left of a statement whose columns from `index` on are those of Row; resets it.
template <typename Row>
Result<std::vector<Row>> read_rows(Database& database, Statement& statement, int index = 0) {
  std::vector<Row> rows;
  for (;;) {
    const auto more = statement.step();
    if (!more) return more.error();
    if (!*more) break;
    Row row;
    ColumnReader reader{statement, index};
    visit_columns(row, reader);
    if (!reader.good()) {
      statement.reset();
      return damaged(database.handle(), "a number is out of its range");
    }
    rows.push_back(std::move(row));
  }
  statement.reset();
  return rows;
}

}  // namespace sluice::state
