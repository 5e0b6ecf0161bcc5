// What the fixture `kafka` tells the tests about its broker, in a file of the build tree: where it
// listens, where its logs are, and which process holds it. Written by a rename, so a file that is
// there is complete.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace sluice::tests {

struct BrokerFile {
  std::string bootstrap_servers;
  std::filesystem::path folder;
  pid_t server = -1;
};

inline void write_broker_file(const std::filesystem::path& file, const BrokerFile& broker) {
  const auto part = std::filesystem::path{file}.concat(".part");
  std::ofstream{part} << broker.bootstrap_servers << '\n'
                      << broker.folder.string() << '\n'
                      << broker.server << '\n';
  std::filesystem::rename(part, file);
}

inline std::optional<BrokerFile> read_broker_file(const std::filesystem::path& file) {
  std::ifstream in{file};
  BrokerFile broker;
  std::string folder;
  if (!(in >> broker.bootstrap_servers >> folder >> broker.server)) return std::nullopt;
  broker.folder = folder;
  return broker;
}

}  // namespace sluice::tests
