#include "host/config/load.hpp"

#include <cerrno>
#include <exception>
#include <fstream>
#include <optional>
#include <system_error>

#include "host/config/assembly.hpp"

namespace sluice::config {
namespace {

Problems one_problem(std::string_view origin, std::string what) {
  Problems problems{std::string{origin}};
  problems.add({}, {}, std::move(what));
  return problems;
}

/// The Error's message is the reason alone.
Result<std::string> read_file(const std::filesystem::path& file) {
  const auto refuse = [](std::string why) { return Error{ErrorCode::Io, std::move(why)}; };
  std::error_code code;
  if (std::filesystem::is_directory(file, code)) return refuse("is a folder; name a file");
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  std::string text(kFileBytesMax + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) {
    return refuse("cannot be read: " + std::generic_category().message(errno));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kFileBytesMax) return refuse("is larger than 4 MiB");
  return text;
}

Entries read_entries(std::string_view text, Format format, Problems& problems) {
  // A file written by an editor of another system may begin with a byte order mark.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  switch (format) {
    case Format::Toml:
      return read_toml(text, problems);
    case Format::Json:
      return read_json(text, problems);
    case Format::JavaProperties:
      return read_properties(text, problems);
  }
  return {};
}

/// The folder's edge: what a library throws (bad_alloc aside, nothing is known to) ends here.
template <typename Config, typename Assemble>
Loaded<Config> parse(std::string_view text, Format format, std::string_view origin,
                     Assemble assemble) {
  Problems problems{std::string{origin}};
  try {
    const Entries entries = read_entries(text, format, problems);
    // A text that did not parse has no keys to speak of: "name is missing" would be noise.
    if (problems.list().empty() || !entries.list().empty()) {
      Config config = assemble(entries, problems);
      config.origin = origin;
      if (problems.empty()) return config;
    }
  } catch (const std::exception& error) {
    problems.add({}, {}, std::string{"cannot be parsed: "} + error.what());
  }
  problems.sort();
  return problems;
}

std::optional<Format> format_of(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".toml") return Format::Toml;
  if (extension == ".json") return Format::Json;
  if (extension == ".properties") return Format::JavaProperties;
  return std::nullopt;
}

}  // namespace

Loaded<JobConfig> parse_job(std::string_view text, Format format, std::string_view origin,
                            const LoadOptions& options) {
  return parse<JobConfig>(text, format, origin, [&](const Entries& entries, Problems& problems) {
    return assemble_job(entries, options, problems);
  });
}

Loaded<JobConfig> load_job(const std::filesystem::path& file, const LoadOptions& options) {
  const auto format = format_of(file);
  if (!format) {
    return one_problem(file.string(), "is no job file; a name ends in .toml, .json or .properties");
  }
  const auto text = read_file(file);
  if (!text) return one_problem(file.string(), text.error().message());
  return parse_job(*text, *format, file.string(), options);
}

Loaded<HostConfig> parse_host(std::string_view text, std::string_view origin,
                              const LoadOptions& options) {
  return parse<HostConfig>(text, Format::Toml, origin,
                           [&](const Entries& entries, Problems& problems) {
                             return assemble_host(entries, options, origin, problems);
                           });
}

Loaded<HostConfig> load_host(const std::filesystem::path& file, const LoadOptions& options) {
  const auto text = read_file(file);
  if (!text) return one_problem(file.string(), text.error().message());
  return parse_host(*text, file.string(), options);
}

}  // namespace sluice::config
