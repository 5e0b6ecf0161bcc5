// Where dead letters go, as the writer sees it: a Kafka topic in production (kafka_outlet.hpp), a
// test's hand elsewhere. Every letter that was taken is answered once, in any order, and stays
// under way until then: there is no timeout here. Owned by the writer. One thread; no call waits
// longer than it is told to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/base/error.hpp"
#include "host/kafka/producer.hpp"

namespace sluice::dead_letter {

/// What became of one letter that was taken.
struct Answer {
  std::uint64_t tag = 0;
  std::optional<Error> failure;  ///< none: acknowledged by every replica in sync
};

class Outlet {
 public:
  virtual ~Outlet() = default;
  /// Copies the record. True: taken, its answer comes once, under record.tag. False: no room now.
  /// An error: refused at once.
  virtual Result<bool> send(const kafka::OutRecord& record) = 0;
  /// The answers that are there; waits at most so long for the first one.
  virtual std::vector<Answer> serve(int timeout_ms) = 0;
  /// What the way to the topic suffers from, for people; may be empty.
  virtual std::string trouble() const = 0;
  /// It can never take anything again; a new one may.
  virtual bool is_broken() const = 0;
};

/// Made when the first letter comes: a worker without one pays for no client.
using OpenOutlet = std::function<Result<std::unique_ptr<Outlet>>()>;

}  // namespace sluice::dead_letter
