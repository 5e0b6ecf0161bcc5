#include "lines/line_files.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace sluice::lines {

namespace {

constexpr std::string_view kTopic = "{topic}";
constexpr std::string_view kPartition = "{partition}";

/// Never a retry, not even for a full disk: a second fdatasync would succeed without the pages.
void sync_file(LineFile& file) {
  try {
    file.sync();
  } catch (const std::system_error& error) {
    throw NotConnected{std::string{error.what()} + "; what was not durable is written again"};
  }
}

bool is_temporary(int error) {
  return error == ENOSPC || error == EDQUOT || error == EIO || error == EMFILE || error == ENFILE ||
         error == ENOMEM || error == EINTR || error == EAGAIN;
}

bool is_kafka_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '.' || character == '_' ||
         character == '-';
}

void append_topic(std::string& path, std::string_view topic) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const bool is_dots = topic.find_first_not_of('.') == std::string_view::npos;
  for (const char character : topic) {
    if (is_kafka_name_character(character) && !is_dots) {
      path += character;
      continue;
    }
    const auto byte = static_cast<unsigned char>(character);
    path += '%';
    path += kDigits[byte >> 4];
    path += kDigits[byte & 0xf];
  }
}

}  // namespace

std::optional<std::string> problem_of_template(std::string_view path_template) {
  if (path_template.empty() || path_template.back() == '/') {
    return "must be the path of a file";
  }
  if (path_template.find('\0') != std::string_view::npos) {
    return "holds a NUL";
  }
  for (std::size_t at = 0; at < path_template.size(); ++at) {
    const std::string_view rest = path_template.substr(at);
    if (rest.starts_with(kTopic) || rest.starts_with(kPartition)) {
      at = path_template.find('}', at);
    } else if (path_template[at] == '{' || path_template[at] == '}') {
      return "has a brace that is neither {topic} nor {partition}";
    }
  }
  return std::nullopt;
}

std::string path_of(std::string_view path_template, std::string_view topic,
                    std::int32_t partition) {
  std::string path;
  while (!path_template.empty()) {
    if (path_template.starts_with(kTopic)) {
      append_topic(path, topic);
      path_template.remove_prefix(kTopic.size());
    } else if (path_template.starts_with(kPartition)) {
      path += std::to_string(partition);
      path_template.remove_prefix(kPartition.size());
    } else {
      path += path_template.front();
      path_template.remove_prefix(1);
    }
  }
  return path;
}

void throw_for_host(const std::system_error& error) {
  switch (error.code().value()) {
    case ENOSPC:
    case EDQUOT:
      throw RetriableError{std::string{error.what()} + "; free some space"};
    case EAGAIN:
      throw RetriableError{error.what()};
    default:
      throw NotConnected{error.what()};
  }
}

LineFiles::LineFiles(std::string path_template, Log log)
    : path_template_{std::move(path_template)}, log_{log} {
  if (const auto problem = problem_of_template(path_template_)) {
    throw ConfigError{"file", *problem};
  }
  try {
    const std::size_t placeholder = path_template_.find('{');
    if (placeholder == std::string::npos) {
      open(path_template_);
    } else {
      create_folders_of(path_template_.substr(0, placeholder));
    }
  } catch (const std::system_error& error) {
    if (is_temporary(error.code().value())) {
      throw_for_host(error);
    }
    throw ConfigError{"file", std::string{"cannot be written: "} + error.what()};
  }
}

void LineFiles::append(std::string_view topic, std::int32_t partition, std::string_view lines) {
  if (lines.empty()) {
    return;
  }
  try {
    LineFile& file = open(path_of(path_template_, topic, partition));
    if (const std::size_t cut_bytes = file.append(lines); cut_bytes > 0) {
      log_.warning("cut an unfinished last line of " + std::to_string(cut_bytes) + " bytes off " +
                   file.path() + ": its writer died; its records come again");
    }
  } catch (const std::system_error& error) {
    throw_for_host(error);
  }
}

void LineFiles::sync() {
  for (auto& [path, opened] : open_) {
    sync_file(*opened.file);
  }
}

LineFile& LineFiles::open(const std::string& path) {
  auto found = open_.find(path);
  if (found == open_.end()) {
    if (open_.size() >= kOpenFilesMax) {
      close_oldest();
    }
    found = open_.emplace(path, OpenFile{std::make_unique<LineFile>(path), 0}).first;
  }
  found->second.last_use = ++uses_;
  return *found->second.file;
}

void LineFiles::close_oldest() {
  const auto oldest = std::min_element(
      open_.begin(), open_.end(),
      [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
  sync_file(*oldest->second.file);
  open_.erase(oldest);
}

}  // namespace sluice::lines
