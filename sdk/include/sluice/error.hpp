// What a plugin throws, and what the host makes of it. Throw from the constructor, put, process,
// flush, rollback, open or close; nothing else is needed, every exception is caught at the
// boundary.
//
//   RetriableError   the outside system is busy: the same call again, later
//   NotConnected     the connection is lost: this object is destroyed and made anew
//   ConfigError      only from the constructor: a key is wrong, the job stops until a user mends it
//   anything else    this slice cannot be processed: attempted again, then slice.on.failure
//
// One bad record is no exception: batch.fail(record, why), and go on with the others.
// The text is for the person who must act: "what failed: which thing: why; what to do".
#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace sluice {

class RetriableError : public std::runtime_error {
 public:
  /// retry_after: what the outside system asked for; without it the host's own back-off.
  explicit RetriableError(const std::string& message,
                          std::optional<std::chrono::milliseconds> retry_after = std::nullopt)
      : std::runtime_error{message}, retry_after_{retry_after} {}

  std::optional<std::chrono::milliseconds> retry_after() const { return retry_after_; }

 private:
  std::optional<std::chrono::milliseconds> retry_after_;
};

class NotConnected : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ConfigError : public std::runtime_error {
 public:
  ConfigError(std::string key, const std::string& message)
      : std::runtime_error{message}, key_{std::move(key)} {}

  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

}  // namespace sluice
