// The mock broker as a program, for tests that run before the command line `sluice` exists.
#include "host/kafka/mock_broker.hpp"

int main(int argc, char** argv) {
  return sluice::kafka::run_mock_broker(argc, argv);
}
