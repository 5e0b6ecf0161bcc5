#include "host/config/converters.hpp"

#include <array>
#include <string_view>

#include "host/config/values.hpp"

namespace sluice::config {
namespace {

enum class Kind { Bytes, Json, Other };

/// Connect accepts the class, its simple name, and that without its ending.
Kind kind_of(std::string_view converter) {
  for (const std::string_view name :
       {"org.apache.kafka.connect.converters.ByteArrayConverter", "ByteArrayConverter", "ByteArray",
        "org.apache.kafka.connect.storage.StringConverter", "StringConverter", "String"}) {
    if (converter == name) return Kind::Bytes;
  }
  for (const std::string_view name :
       {"org.apache.kafka.connect.json.JsonConverter", "JsonConverter", "Json"}) {
    if (converter == name) return Kind::Json;
  }
  return Kind::Other;
}

void check_one(std::string_view key, const Entries& entries, Problems& problems) {
  const Entry* const converter = entries.find(key);
  const std::string schemas_key = std::string{key} + ".schemas.enable";
  const Entry* const schemas = entries.find(schemas_key);
  const Kind kind = converter == nullptr ? Kind::Bytes : kind_of(trim(converter->value));
  if (kind == Kind::Other) {
    problems.add(converter->position, converter->key,
                 in_quotes(converter->value) +
                     " is not supported yet; ByteArrayConverter, StringConverter and JsonConverter "
                     "with schemas.enable = false are: bytes pass through");
  }
  // A schemas.enable that is there and not false has its own problem from the key table.
  if (kind == Kind::Json && schemas == nullptr) {
    problems.add(converter->position, converter->key,
                 "JSON with schemas is not supported yet; set " + schemas_key + " to false");
  }
}

}  // namespace

void check_converters(const Entries& entries, Problems& problems) {
  for (const std::string_view key : {"key.converter", "value.converter", "header.converter"}) {
    check_one(key, entries, problems);
  }
}

}  // namespace sluice::config
