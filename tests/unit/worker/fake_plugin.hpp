// A sink and a processor through abi.h alone, steered by a script and by the records' values; they
// keep a journal of the calls they got (the processor's begin with "p:"). A record's value says
// what happens to it:
//   "bad"  fail_record in put      "late"  fail_record in flush      "boom"  put answers FAIL
//   "drop" the processor emits nothing      "twice" ... emits two      "odd" ... fail_record in
//   process
#pragma once

#include <sluice/abi.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/worker/plugin_module.hpp"

namespace sluice::worker::fixture {

enum class Rollback { Offered, Missing };

/// The durable world behind the sink, and the script; outlives instances. One per test.
struct PluginWorld {
  std::vector<std::string> journal;
  std::map<std::string, std::deque<sluice_status>> answers;  ///< by call; empty: OK
  std::map<std::string, std::function<void(const sluice_host*)>> on_call;
  std::string says = "because";
  std::string key;
  std::int64_t retry_after_ms = -1;
  Rollback rollback = Rollback::Offered;
  bool has_flush = true;
  std::vector<std::string> put;      ///< "partition@offset", since the last flush or reset
  std::vector<std::string> durable;  ///< flushed
  std::vector<std::size_t> batch_sizes;
  std::vector<std::shared_ptr<void>> instances;  ///< as the process keeps those not destroyed

  sluice_status answer(const std::string& call, const sluice_host* host) {
    journal.push_back(call);
    if (const auto hook = on_call.find(call); hook != on_call.end()) hook->second(host);
    auto& planned = answers[call];
    if (planned.empty()) return SLUICE_OK;
    const sluice_status status = planned.front();
    planned.pop_front();
    if (status != SLUICE_OK) say(host, says);
    return status;
  }
  void say(const sluice_host* host, const std::string& text) const {
    const sluice_error error = error_of(text);
    host->set_error(host, &error);
  }
  sluice_error error_of(std::string_view text) const {
    return {sizeof(sluice_error),
            0,
            {text.data(), text.size()},
            {key.data(), key.size()},
            retry_after_ms};
  }
  std::size_t times(const std::string& call) const {
    return static_cast<std::size_t>(std::count(journal.begin(), journal.end(), call));
  }
};

inline std::string value_of(const sluice_record& record) {
  return {static_cast<const char*>(record.value.data), record.value.size};
}

struct Instance {
  sluice_plugin plugin{};
  const sluice_host* host = nullptr;
  PluginWorld* world = nullptr;
  std::string prefix;
  std::vector<std::pair<std::uint64_t, std::int64_t>> late;

  static Instance& of(sluice_plugin* plugin) { return *static_cast<Instance*>(plugin->context); }
  sluice_status answer(const std::string& call) { return world->answer(prefix + call, host); }
};

/// create() has no argument for it: the world of the test that runs.
inline PluginWorld*& current_world() {
  static PluginWorld* world = nullptr;
  return world;
}

inline std::string listed(const sluice_partition* partitions, std::uint32_t count) {
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) text += " " + std::to_string(partitions[i].partition);
  return text;
}

inline sluice_status put(sluice_plugin* plugin, const sluice_batch* batch) noexcept {
  Instance& self = Instance::of(plugin);
  PluginWorld& world = *self.world;
  const sluice_status status = self.answer("put");
  if (status != SLUICE_OK) return status;
  world.batch_sizes.push_back(batch->record_count);
  for (std::uint32_t i = 0; i < batch->record_count; ++i) {
    *self.host->position = i;
    const sluice_record& record = *sluice_record_at(batch, i);
    const std::string value = value_of(record);
    if (value == "boom") {
      world.say(self.host, "boom at " + std::to_string(record.offset));
      return SLUICE_FAIL;
    }
    if (value == "bad") {
      const sluice_error why = world.error_of("not valid");
      self.host->fail_record(self.host, batch->slice_id, record.offset, &why);
      continue;
    }
    if (value == "late") self.late.emplace_back(batch->slice_id, record.offset);
    world.put.push_back(std::to_string(record.partition) + "@" + std::to_string(record.offset));
  }
  return SLUICE_OK;
}

inline sluice_status flush(sluice_plugin* plugin) noexcept {
  Instance& self = Instance::of(plugin);
  const sluice_status status = self.answer("flush");
  if (status != SLUICE_OK) return status;
  for (const auto& [slice_id, offset] : self.late) {
    const sluice_error why = self.world->error_of("too late");
    self.host->fail_record(self.host, slice_id, offset, &why);
  }
  self.late.clear();
  auto& made = self.world->put;
  self.world->durable.insert(self.world->durable.end(), made.begin(), made.end());
  made.clear();
  return SLUICE_OK;
}

inline sluice_status process(sluice_plugin* plugin, const sluice_batch* batch) noexcept {
  Instance& self = Instance::of(plugin);
  const sluice_status status = self.answer("process");
  if (status != SLUICE_OK) return status;
  for (std::uint32_t i = 0; i < batch->record_count; ++i) {
    const sluice_record& record = *sluice_record_at(batch, i);
    const std::string value = value_of(record);
    if (value == "odd") {
      const sluice_error why = self.world->error_of("odd");
      self.host->fail_record(self.host, batch->slice_id, record.offset, &why);
    }
    if (value == "drop" || value == "odd") continue;
    const sluice_out out{sizeof(sluice_out),  i,
                         record.key,          record.value,
                         record.timestamp_ms, record.flags,
                         record.header_count, record.headers};
    const sluice_out both[] = {out, out};
    self.host->emit(self.host, both, value == "twice" ? 2 : 1);
  }
  return SLUICE_OK;
}

inline sluice_plugin* create(const sluice_host* host, sluice_kind kind) {
  PluginWorld* world = current_world();
  const auto self = std::make_shared<Instance>();
  world->instances.push_back(self);
  self->host = host;
  self->world = world;
  self->prefix = kind == SLUICE_KIND_SINK ? "" : "p:";
  world->journal.push_back(self->prefix + "create");
  sluice_plugin& plugin = self->plugin;
  plugin.size = sizeof(plugin);
  plugin.context = self.get();
  plugin.start = [](sluice_plugin* p, const sluice_start*) noexcept {
    return Instance::of(p).answer("start");
  };
  plugin.open = [](sluice_plugin* p, const sluice_partition* partitions, std::uint32_t count,
                   sluice_reason reason) noexcept {
    const char* call = reason == SLUICE_REASON_RESET ? "reopen" : "open";
    return Instance::of(p).answer(call + listed(partitions, count));
  };
  if (kind == SLUICE_KIND_SINK) {
    plugin.put = &put;
    if (world->has_flush) plugin.flush = &flush;
  } else {
    plugin.process = &process;
  }
  if (world->rollback == Rollback::Offered) {
    plugin.rollback = [](sluice_plugin* p) noexcept {
      Instance::of(p).world->put.clear();
      Instance::of(p).late.clear();
      return Instance::of(p).answer("rollback");
    };
  }
  plugin.close = [](sluice_plugin* p, const sluice_partition* partitions, std::uint32_t count,
                    sluice_reason) noexcept {
    return Instance::of(p).answer("close" + listed(partitions, count));
  };
  plugin.stop = [](sluice_plugin* p) noexcept { Instance::of(p).answer("stop"); };
  plugin.destroy = [](sluice_plugin* p) noexcept {
    Instance& instance = Instance::of(p);
    instance.world->journal.push_back(instance.prefix + "destroy");
    instance.world->put.clear();
  };
  return &plugin;
}

/// Descriptor, checked module and choice of one fake plugin.
inline PluginChoice choice_of(sluice_kind kind) {
  static const auto make = [](sluice_kind of_kind) {
    sluice_descriptor made{};
    made.size = sizeof(made);
    made.kind = of_kind;
    made.name = of_kind == SLUICE_KIND_SINK ? "fake" : "pass";
    made.version = "1.0.0";
    made.create =
        of_kind == SLUICE_KIND_SINK
            ? [](const sluice_host* h) noexcept { return create(h, SLUICE_KIND_SINK); }
            : [](const sluice_host* h) noexcept { return create(h, SLUICE_KIND_PROCESSOR); };
    return made;
  };
  static const sluice_descriptor kSink = make(SLUICE_KIND_SINK);
  static const sluice_descriptor kProcessor = make(SLUICE_KIND_PROCESSOR);
  static const PluginModule::Plugin kSinkPlugin{&kSink, {}, {}};
  static const PluginModule::Plugin kProcessorPlugin{&kProcessor, {}, {}};
  return {kind == SLUICE_KIND_SINK ? &kSinkPlugin : &kProcessorPlugin, nullptr};
}

}  // namespace sluice::worker::fixture
