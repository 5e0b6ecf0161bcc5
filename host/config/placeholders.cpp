#include "host/config/placeholders.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace sluice::config {
namespace {

constexpr std::size_t kSecretFileBytesMax = 1U << 20;
constexpr std::string_view kProviderCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

Error failed(std::string_view placeholder, std::string_view why) {
  return Error{ErrorCode::Configuration,
               "${" + std::string{placeholder} + "}: " + std::string{why}};
}

Result<std::string> read_file(std::string_view path) {
  std::ifstream in{std::string{path}, std::ios::binary};
  if (!in) return io_error("open", path, errno);
  std::string text(kSecretFileBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) return io_error("read", path, errno);
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kSecretFileBytesMax) {
    return Error{ErrorCode::Configuration, std::string{path} + ": is larger than 1 MiB"};
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  text.remove_prefix(begin);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

/// key=value lines, `#` comments: the subset of .properties that secret files are written in.
std::optional<std::string> property(std::string_view text, std::string_view key) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    const std::size_t equals = line.find_first_of("=:");
    if (line.empty() || line.front() == '#' || line.front() == '!') continue;
    if (equals == std::string_view::npos || trimmed(line.substr(0, equals)) != key) continue;
    return std::string{trimmed(line.substr(equals + 1))};
  }
  return std::nullopt;
}

Result<std::string> from_file(std::string_view placeholder, std::string_view argument,
                              const Environment& environment) {
  // The path may hold colons, a key does not.
  const std::size_t colon = argument.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == argument.size()) {
    return failed(placeholder, "write ${file:/path:key}");
  }
  const auto text = environment.file(argument.substr(0, colon));
  if (!text) return failed(placeholder, text.error().message());
  if (auto value = property(*text, argument.substr(colon + 1))) return *std::move(value);
  return failed(placeholder, "the file has no such key");
}

Result<std::string> from_credential(std::string_view placeholder, std::string_view id,
                                    const Environment& environment) {
  const bool plain =
      !id.empty() && id != "." && id != ".." && id.find('/') == std::string_view::npos;
  if (!plain) return failed(placeholder, "a credential's name has no / in it");
  const auto directory = environment.variable("CREDENTIALS_DIRECTORY");
  if (!directory) {
    return failed(placeholder,
                  "CREDENTIALS_DIRECTORY is not set; add LoadCredential= to the service");
  }
  auto text = environment.file(*directory + "/" + std::string{id});
  if (!text) return failed(placeholder, text.error().message());
  if (text->ends_with('\n')) text->pop_back();
  return text;
}

Result<std::string> resolve_one(std::string_view provider, std::string_view argument,
                                std::string_view placeholder, const Environment& environment) {
  if (provider == "env") {
    auto value = environment.variable(argument);
    if (!value) return failed(placeholder, "the environment has no such variable");
    return *std::move(value);
  }
  if (provider == "file") return from_file(placeholder, argument, environment);
  if (provider == "credential") return from_credential(placeholder, argument, environment);
  return failed(placeholder, "unknown kind; known are env, file and credential");
}

/// A placeholder's extent in a text: `${provider:argument}`.
struct Found {
  std::size_t begin;
  std::size_t end;
  std::string_view inside;
  std::size_t colon;  ///< in `inside`
};

std::optional<Found> next_placeholder(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find("${", from); at != std::string_view::npos;
       at = text.find("${", at + 2)) {
    const std::size_t close = text.find('}', at);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text.substr(at + 2, close - at - 2);
    const std::size_t colon = inside.find(':');
    const std::size_t word = inside.find_first_not_of(kProviderCharacters);
    if (colon != std::string_view::npos && colon > 0 && word == colon) {
      return Found{at, close + 1, inside, colon};
    }
  }
  return std::nullopt;
}

}  // namespace

Environment Environment::of_process() {
  return Environment{[](std::string_view name) -> std::optional<std::string> {
                       const char* const value = std::getenv(std::string{name}.c_str());
                       return value == nullptr ? std::nullopt : std::optional<std::string>{value};
                     },
                     read_file};
}

bool has_placeholder(std::string_view text) {
  return next_placeholder(text, 0).has_value();
}

Result<std::string> resolve_placeholders(std::string_view text, const Environment& environment) {
  std::string out;
  std::size_t done = 0;
  while (const auto found = next_placeholder(text, done)) {
    out += text.substr(done, found->begin - done);
    const auto value =
        resolve_one(found->inside.substr(0, found->colon), found->inside.substr(found->colon + 1),
                    found->inside, environment);
    if (!value) return value.error();
    out += *value;
    done = found->end;
  }
  out += text.substr(done);
  return out;
}

}  // namespace sluice::config
