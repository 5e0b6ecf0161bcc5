#include <boost/json.hpp>
#include <boost/program_options.hpp>
#include <boost/version.hpp>
#include <iostream>

#include "host/cli/command.hpp"
#include "host/kafka/version.hpp"
#include "sluice/abi.h"

namespace sluice::cli {
namespace po = boost::program_options;

int show_version(const std::vector<std::string>& arguments) {
  po::options_description options{"Options"};
  options.add_options()("help,h", "this text")("json", "one JSON object");
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(options).run(), values);
  } catch (const po::error& error) {
    return fail_with(
        {ErrorCode::Usage, std::string{error.what()} + "; see `sluice version --help`"});
  }
  if (values.contains("help")) {
    std::cout << "Usage: sluice version [--json]\n\n" << options << "\nExample: sluice version\n";
    return kExitOk;
  }
  const auto abi = std::to_string(SLUICE_ABI_MAJOR) + "." + std::to_string(SLUICE_ABI_MINOR);
  const std::string boost_version = BOOST_LIB_VERSION;
  if (values.contains("json")) {
    std::cout << boost::json::serialize(
                     boost::json::object{{"sluice", SLUICE_VERSION},
                                         {"plugin_abi", abi},
                                         {"librdkafka", kafka::library_version()},
                                         {"boost", boost_version}})
              << '\n';
  } else {
    std::cout << "sluice " << SLUICE_VERSION << "\nplugin ABI " << abi << "\nlibrdkafka "
              << kafka::library_version() << "\nBoost " << boost_version << '\n';
  }
  return kExitOk;
}

}  // namespace sluice::cli
