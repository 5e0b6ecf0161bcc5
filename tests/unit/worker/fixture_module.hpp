// A module built by hand from abi.h, for tests that need no shared object: a sink and a processor
// with keys of every type, whose descriptors the test may break before it has them checked. Keep it
// alive as long as anything made from it.
#pragma once

#include <sluice/abi.h>

#include <array>
#include <string>

namespace sluice::worker::fixture {

inline constexpr const char* kFormats[] = {"json", "raw"};
inline constexpr const char* kDependents[] = {"format"};

inline sluice_config_key key(const char* name, sluice_config_type type) {
  sluice_config_key made{};
  made.size = sizeof(made);
  made.type = type;
  made.name = name;
  made.doc = "What it is for.";
  return made;
}

inline sluice_bytes bytes(const char* text) {
  return {text, std::char_traits<char>::length(text)};
}

/// Every member may be changed; module() points into this object.
struct Module {
  Module() {
    keys[0] = key("file", SLUICE_TYPE_STRING);
    keys[0].flags = SLUICE_KEY_REQUIRED;
    keys[0].pattern = "/.*";
    keys[1] = key("format", SLUICE_TYPE_ENUM);
    keys[1].choices = kFormats;
    keys[1].choice_count = 2;
    keys[1].default_value = "json";
    keys[2] = key("timeout", SLUICE_TYPE_DURATION);
    keys[2].default_value = "30s";
    keys[2].min = "1s";
    keys[2].max = "1h";
    keys[3] = key("buffer", SLUICE_TYPE_BYTES);
    keys[4] = key("ratio", SLUICE_TYPE_FLOAT);
    keys[4].min = "0";
    keys[4].max = "1";
    keys[5] = key("sync", SLUICE_TYPE_BOOL);
    keys[6] = key("hosts", SLUICE_TYPE_LIST);
    keys[6].pattern = "[a-z]+";
    keys[7] = key("header", SLUICE_TYPE_MAP);
    keys[8] = key("password", SLUICE_TYPE_SECRET);
    keys[8].dependents = kDependents;
    keys[8].dependent_count = 1;
    keys[9] = key("retries", SLUICE_TYPE_INT);

    presets[0] = {"format", "raw"};
    aliases[0] = {sizeof(sluice_alias), 1, "FileStreamSink", presets.data()};

    sink.size = sizeof(sink);
    sink.kind = SLUICE_KIND_SINK;
    sink.name = "file";
    sink.version = "1.2.3";
    sink.summary = "Writes files.";
    sink.capabilities = SLUICE_CAP_STABLE_SLICES | SLUICE_CAP_IDEMPOTENT;
    sink.keys = keys.data();
    sink.key_count = static_cast<std::uint32_t>(keys.size());
    sink.aliases = aliases.data();
    sink.alias_count = 1;
    sink.create = [](const sluice_host*) noexcept -> sluice_plugin* { return nullptr; };

    processor = sink;
    processor.kind = SLUICE_KIND_PROCESSOR;
    processor.name = "filter";
    processor.alias_count = 0;
    processor.capabilities = 0;

    module.size = sizeof(module);
    module.magic = SLUICE_MAGIC;
    module.abi_major = SLUICE_ABI_MAJOR;
    module.abi_minor = SLUICE_ABI_MINOR;
    module.plugin_count = 2;
    module.plugins = plugins.data();
    module.build = "by hand";
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::array<sluice_config_key, 10> keys{};
  std::array<sluice_preset, 1> presets{};
  std::array<sluice_alias, 1> aliases{};
  sluice_descriptor sink{};
  sluice_descriptor processor{};
  std::array<const sluice_descriptor*, 2> plugins{&sink, &processor};
  sluice_module module{};
};

}  // namespace sluice::worker::fixture
