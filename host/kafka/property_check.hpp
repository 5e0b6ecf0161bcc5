// Asks librdkafka about one property before any client is made with it, so that a mistyped
// `consumer.override.*` is a message with file and line instead of a worker that does not start.
// Only the linked version knows its properties: a list of ours would refuse a newer one's.
#pragma once

#include <string>

namespace sluice::kafka {

/// Empty if librdkafka takes it; else why not, with the nearest name, and without the value, which
/// may be a secret.
std::string property_refusal(const std::string& name, const std::string& value);

}  // namespace sluice::kafka
