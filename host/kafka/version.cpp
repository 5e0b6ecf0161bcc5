#include "host/kafka/version.hpp"

#include <librdkafka/rdkafka.h>

namespace sluice::kafka {

std::string library_version() {
  return rd_kafka_version_str();
}

}  // namespace sluice::kafka
