#include "lines/ledger_line.hpp"

#include <unistd.h>

#include "lines/text.hpp"

namespace sluice::lines {

namespace {

void append_bytes(std::string& line, Bytes bytes) {
  if (bytes.is_null()) {
    line += "null";
  } else {
    append_json_base64(line, bytes);
  }
}

/// A name is text; one that is not UTF-8 is an object, as no text looks.
void append_name(std::string& line, Bytes name) {
  if (is_utf8(name)) {
    append_json_string(line, name);
    return;
  }
  line += R"({"base64":)";
  append_json_base64(line, name);
  line += '}';
}

void append_headers(std::string& line, const Headers& headers) {
  const char* separator = "";
  for (const Header header : headers) {
    line += separator;
    line += '[';
    append_name(line, header.name());
    line += ',';
    append_bytes(line, header.value());
    line += ']';
    separator = ",";
  }
}

std::string_view timestamp_type_name(TimestampType type) {
  switch (type) {
    case TimestampType::Create:
      return "create";
    case TimestampType::LogAppend:
      return "log_append";
    default:
      return "none";
  }
}

void append_number_field(std::string& line, std::string_view name, std::int64_t number) {
  line += ",\"";
  line += name;
  line += "\":";
  append_number(line, number);
}

}  // namespace

void append_ledger_line(std::string& lines, const Slice& slice, const Record& record) {
  lines += R"({"topic":)";
  append_json_string(lines, slice.topic());
  append_number_field(lines, "partition", record.partition());
  append_number_field(lines, "offset", record.offset());
  append_number_field(lines, "timestamp", record.timestamp_ms());
  lines += R"(,"timestamp_type":")";
  lines += timestamp_type_name(record.timestamp_type());
  lines += R"(","key":)";
  append_bytes(lines, record.key());
  lines += R"(,"value":)";
  append_bytes(lines, record.value());
  lines += R"(,"headers":[)";
  append_headers(lines, record.headers());
  lines += ']';
  append_number_field(lines, "pid", ::getpid());
  append_number_field(lines, "slice", static_cast<std::int64_t>(slice.id()));
  append_number_field(lines, "start", slice.start_offset());
  append_number_field(lines, "end", slice.end_offset());
  append_number_field(lines, "attempt", slice.attempt());
  lines += "}\n";
}

}  // namespace sluice::lines
