#include "host/kafka/property_check.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

#include "host/base/nearest_name.hpp"
#include "host/kafka/library.hpp"

namespace sluice::kafka {
namespace {

std::string unknown(const std::string& name, rd_kafka_conf_t* conf) {
  std::size_t count = 0;
  const char** const dump = rd_kafka_conf_dump(conf, &count);  // name, value, name, value ...
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i + 1 < count; i += 2) names.emplace_back(dump[i]);
  const std::string_view nearest = nearest_name(name, names);
  const std::string text = nearest.empty() ? "librdkafka has no such property; take the key out"
                                           : "librdkafka has no such property; did you mean " +
                                                 std::string{nearest} + "?";
  rd_kafka_conf_dump_free(dump, count);
  return text;
}

}  // namespace

std::string property_refusal(const std::string& name, const std::string& value) {
  const Owned<rd_kafka_conf_t> conf{rd_kafka_conf_new()};
  char reason[512] = {};  // not shown: it repeats the value
  switch (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), reason, sizeof reason)) {
    case RD_KAFKA_CONF_OK:
      return {};
    case RD_KAFKA_CONF_UNKNOWN:
      return unknown(name, conf.get());
    default:
      return "librdkafka refuses this value; see its CONFIGURATION.md for the ones it takes";
  }
}

}  // namespace sluice::kafka
