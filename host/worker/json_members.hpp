// Strict reading of one JSON object: every member asked for must be there, of the right type and in
// range, and nothing else may be there. The first thing wrong is kept, named by its path
// ("plugins[1].sha256"); later calls then return empty values, so that a reader is a plain list of
// members with one check at its end. Used for what the host hands a worker.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/base/error.hpp"

namespace sluice::worker {

/// The first thing that was wrong in a document, shared by the readers of all its objects.
class JsonFault {
 public:
  explicit JsonFault(std::string what) : what_{std::move(what)} {}

  void note(std::string_view path, std::string_view why);
  bool found() const { return error_.has_value(); }
  /// Requires: found().
  const Error& error() const { return *error_; }

 private:
  std::string what_;
  std::optional<Error> error_;
};

class JsonMembers {
 public:
  /// An object's members; a value that is no object is a fault. `value` and `fault` must outlive
  /// it.
  JsonMembers(const boost::json::value& value, std::string path, JsonFault& fault);
  /// Faults on members that nobody asked for.
  ~JsonMembers();
  JsonMembers(const JsonMembers&) = delete;
  JsonMembers& operator=(const JsonMembers&) = delete;

  std::string text(std::string_view name);
  /// As text(), and empty is a fault.
  std::string filled_text(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t min, std::int64_t max);
  std::uint64_t natural(std::string_view name, std::uint64_t max);
  template <typename T>
  T positive(std::string_view name) {
    const std::uint64_t number = natural(name, std::numeric_limits<T>::max());
    if (number == 0) fault_.note(path_of(name), "must not be 0");
    return static_cast<T>(number);
  }
  std::map<std::string, std::string> text_map(std::string_view name);
  /// An array of [name, value] pairs, which keeps their order.
  std::vector<std::pair<std::string, std::string>> text_pairs(std::string_view name);
  const boost::json::array& array(std::string_view name);
  /// Null (no fault) when absent.
  const boost::json::value* optional(std::string_view name);
  const boost::json::value& required(std::string_view name);

  std::string path_of(std::string_view name) const;

 private:
  const boost::json::object* object_ = nullptr;
  std::string path_;
  JsonFault& fault_;
  std::size_t taken_ = 0;
  std::vector<std::string_view> names_;
};

/// Parses a document; a syntax error is noted at its position.
boost::json::value parse_json(std::string_view bytes, JsonFault& fault);

}  // namespace sluice::worker
