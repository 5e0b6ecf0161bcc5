// A whole topic of one partition as it lies there, copied: for tests that ask what a job wrote into
// Kafka. Reads from the beginning to the end of the partition with a client of its own; gives up
// after half a minute, by an exception. Nothing is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::rig {

struct ReadRecord {
  std::optional<std::string> key;  ///< none: Kafka's null
  std::optional<std::string> value;
  std::vector<std::pair<std::string, std::optional<std::string>>> headers;

  /// The last one of that name, as Kafka's readers take it; "(none)" without one.
  std::string header(const std::string& name) const;
};

std::vector<ReadRecord> read_topic(const std::string& bootstrap_servers, const std::string& topic);

}  // namespace sluice::rig
