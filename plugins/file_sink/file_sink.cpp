// Records as lines of files. A batch becomes one append, so workers may share a file; flush is
// fdatasync. Ten records are ten lines, whatever their bytes, and can be read back to them (json
// and text); raw keeps the value alone, as it is.
#include <sluice/sink.hpp>

#include "lines/line_files.hpp"
#include "lines/text.hpp"

namespace {

enum class Format { Json, Text, Raw };

struct Settings {
  std::string file;
  Format format = Format::Json;
};

void append_timestamp(std::string& line, const sluice::Record& record, std::string_view null) {
  if (record.timestamp_type() == sluice::TimestampType::None) {
    line += null;
  } else {
    sluice::lines::append_number(line, record.timestamp_ms());
  }
}

/// ,"NAME": and the text, null, or ,"NAME_base64": and base64.
void append_json_field(std::string& line, std::string_view name, sluice::Bytes bytes) {
  const bool is_text = sluice::lines::is_utf8(bytes);
  line += ",\"";
  line += name;
  line += is_text ? "\":" : "_base64\":";
  if (bytes.is_null()) {
    line += "null";
  } else if (is_text) {
    sluice::lines::append_json_string(line, bytes);
  } else {
    sluice::lines::append_json_base64(line, bytes);
  }
}

/// The text, null, or {"base64":".."}.
void append_json_element(std::string& line, sluice::Bytes bytes) {
  if (bytes.is_null()) {
    line += "null";
  } else if (sluice::lines::is_utf8(bytes)) {
    sluice::lines::append_json_string(line, bytes);
  } else {
    line += "{\"base64\":";
    sluice::lines::append_json_base64(line, bytes);
    line += '}';
  }
}

void append_json_headers(std::string& line, const sluice::Headers& headers) {
  line += '[';
  const char* separator = "";
  for (const sluice::Header header : headers) {
    line += separator;
    line += '[';
    append_json_element(line, header.name());
    line += ',';
    append_json_element(line, header.value());
    line += ']';
    separator = ",";
  }
  line += ']';
}

class FileSink final : public sluice::Sink {
 public:
  static const char* summary() {
    return "Appends records as lines of files: JSON, text or raw values.";
  }

  static std::vector<sluice::Alias> aliases() {
    return {{"FileStreamSink", {{"format", "raw"}}},
            {"org.apache.kafka.connect.file.FileStreamSinkConnector", {{"format", "raw"}}}};
  }

  static auto schema() {
    return sluice::Schema<Settings>{}
        .field("file", &Settings::file)
        .required()
        .importance(sluice::Importance::High)
        .example("/var/lib/sluice/out/{topic}-{partition}.jsonl")
        .doc(
            "File to append to; {topic} and {partition} are replaced, folders are created. "
            "Workers may share a file.")
        .field("format", &Settings::format,
               {{"json", Format::Json}, {"text", Format::Text}, {"raw", Format::Raw}})
        .doc(
            "json: an object a line; text: the fields of PostgreSQL's COPY; raw: the value alone.");
  }

  static void validate(const Settings& settings, sluice::Problems& problems) {
    if (const auto problem = sluice::lines::problem_of_template(settings.file)) {
      problems.add("file", *problem);
    }
  }

  FileSink(const Settings& settings, const sluice::Start& start)
      : Sink{start}, format_{settings.format}, files_{settings.file, log()} {}

  void put(const sluice::Batch& batch) override {
    if (batch.empty()) {
      return;
    }
    const sluice::Slice slice = batch.slice();
    lines_.clear();
    prefix_.clear();
    (format_ == Format::Json) ? begin_json(slice) : begin_text(slice);
    for (const sluice::Record record : batch) {
      append_line(batch, record);
    }
    files_.append(slice.topic(), slice.partition(), lines_);
    if (lines_.capacity() > kBufferKeptBytes) {
      std::string{}.swap(lines_);
    }
  }

  void flush() override { files_.sync(); }

 private:
  /// A batch of worker.batch.max.bytes and its escapes; what a huge record needs is given back.
  static constexpr std::size_t kBufferKeptBytes = 4 << 20;

  void begin_json(const sluice::Slice& slice) {
    prefix_ = "{\"topic\":";
    sluice::lines::append_json_string(prefix_, slice.topic());
    prefix_ += ",\"partition\":" + std::to_string(slice.partition()) + ",\"offset\":";
  }

  void begin_text(const sluice::Slice& slice) {
    sluice::lines::append_copy_field(prefix_, slice.topic());
    prefix_ += '\t' + std::to_string(slice.partition()) + '\t';
  }

  void append_line(const sluice::Batch& batch, const sluice::Record& record) {
    switch (format_) {
      case Format::Json:
        return append_json(record);
      case Format::Text:
        return append_text(record);
      case Format::Raw:
        return append_raw(batch, record);
    }
  }

  void append_json(const sluice::Record& record) {
    lines_ += prefix_;
    sluice::lines::append_number(lines_, record.offset());
    lines_ += ",\"timestamp\":";
    append_timestamp(lines_, record, "null");
    append_json_field(lines_, "key", record.key());
    append_json_field(lines_, "value", record.value());
    lines_ += ",\"headers\":";
    append_json_headers(lines_, record.headers());
    lines_ += "}\n";
  }

  void append_text(const sluice::Record& record) {
    lines_ += prefix_;
    sluice::lines::append_number(lines_, record.offset());
    lines_ += '\t';
    append_timestamp(lines_, record, kCopyNull);
    append_copy(record.key());
    append_copy(record.value());
    headers_.clear();
    append_json_headers(headers_, record.headers());
    append_copy(headers_);
    lines_ += '\n';
  }

  void append_copy(sluice::Bytes bytes) {
    lines_ += '\t';
    if (bytes.is_null()) {
      lines_ += kCopyNull;
    } else {
      sluice::lines::append_copy_field(lines_, bytes);
    }
  }

  void append_raw(const sluice::Batch& batch, const sluice::Record& record) {
    if (record.value().find('\n') != sluice::Bytes::npos) {
      batch.fail(record,
                 "the value holds a line feed, which format raw cannot keep; use json or text");
      return;
    }
    lines_ += record.value();
    lines_ += '\n';
  }

  static constexpr std::string_view kCopyNull = "\\N";

  Format format_;
  sluice::lines::LineFiles files_;
  std::string lines_;    ///< the batch's, reused
  std::string prefix_;   ///< of every line of the batch
  std::string headers_;  ///< of a record in text, before its escapes
};

}  // namespace

SLUICE_SINK(FileSink, "file", "1.0.0")
