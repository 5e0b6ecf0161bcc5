#include "host/cli/command.hpp"
#include "host/kafka/mock_broker.hpp"

namespace sluice::cli {

int run_mock_broker_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> texts{"mock-broker"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  return kafka::run_mock_broker(static_cast<int>(texts.size()), argv.data());
}

}  // namespace sluice::cli
