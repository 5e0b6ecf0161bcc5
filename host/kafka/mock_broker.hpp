// The mock cluster as a process of its own: what the hidden command `sluice mock-broker` runs, for
// the demo, `--embedded` and tests that kill and spawn hosts. Prints the bootstrap servers as its
// first line, then obeys one command a line on standard input and answers each with `ok` or `error
// WHY`:
//
//   create TOPIC PARTITIONS | leader TOPIC PARTITION BROKER | down BROKER | up BROKER
//   rtt BROKER MS | errors APIKEY CODE COUNT | topic-error TOPIC CODE | quit
//
// End of input is `quit`: whoever holds the other end of the pipe owns this process.
#pragma once

#include <iosfwd>
#include <string>

#include "host/kafka/mock_cluster.hpp"

namespace sluice::kafka {

/// Arguments: [--brokers N]. Returns the exit code (0, or 2 for wrong arguments).
int run_mock_broker(int argc, char** argv);

/// One command line; what the process answers.
std::string obey(MockCluster& cluster, const std::string& line);

}  // namespace sluice::kafka
