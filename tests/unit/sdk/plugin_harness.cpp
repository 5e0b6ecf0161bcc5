#include "unit/sdk/plugin_harness.hpp"

#include <stdexcept>

namespace sluice::test {

namespace {

/// Modules stay for the life of the process, as in a worker.
worker::PluginModule* keep(worker::PluginModule module) {
  static std::vector<std::unique_ptr<worker::PluginModule>> modules;
  return modules.emplace_back(std::make_unique<worker::PluginModule>(std::move(module))).get();
}

Result<std::optional<std::string>> as_it_is(std::string_view text) {
  return std::optional<std::string>{text};
}

}  // namespace

worker::PluginChoice PluginHarness::load(const std::string& file, const std::string& alias) {
  const std::string path = std::string{SLUICE_PLUGIN_DIR} + "/" + file;
  auto module = worker::load_module(path);
  if (!module) {
    throw std::runtime_error{module.error().message()};
  }
  const worker::PluginModule& kept = *keep(std::move(*module));
  const sluice_descriptor& first = *kept.plugins().at(0).descriptor;
  const auto choice =
      worker::find_plugin(kept, alias.empty() ? first.name : alias, first.kind, path);
  if (!choice) {
    throw std::runtime_error{choice.error().message()};
  }
  return *choice;
}

worker::PluginChoice PluginHarness::of_class(const sluice_descriptor* descriptor) {
  const sluice_module module{
      sizeof(sluice_module), SLUICE_MAGIC, SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR, 0, 1,
      &descriptor,           nullptr};
  auto checked = worker::PluginModule::check(&module, "a class of the test's own");
  if (!checked) {
    throw std::runtime_error{checked.error().message()};
  }
  return {&keep(std::move(*checked))->plugins().at(0), nullptr};
}

std::string PluginHarness::problems(const worker::PluginChoice& choice, const Config& config) {
  const auto checked = worker::PluginSettings::check(choice, config, as_it_is);
  auto problems = checked.problems;
  if (problems.empty()) {
    problems = worker::validate_settings(choice, *checked.settings);
  }
  std::string text;
  for (const auto& [key, message] : problems) {
    text += (text.empty() ? "" : "; ") + key + ": " + message;
  }
  return text;
}

PluginHarness::PluginHarness(const worker::PluginChoice& choice, const Config& config)
    : settings_{worker::PluginSettings::check(choice, config, as_it_is)} {
  for (const auto& [key, message] : settings_.problems) {
    throw std::runtime_error{key + ": " + message};
  }
  plugin = choice.plugin->descriptor->create(&host.raw);
  if (plugin == nullptr) {
    throw std::runtime_error{"create() had no memory"};
  }
}

PluginHarness::~PluginHarness() {
  stop();
}

sluice_status PluginHarness::start() {
  const sluice_start start{sizeof start, 0, settings_.settings->view(), {"job", 3}, 0, 0};
  const sluice_status status = plugin->start(plugin, &start);
  is_started_ = status == SLUICE_OK;
  return status;
}

sluice_status PluginHarness::put(const std::vector<TestRecord>& records, std::int32_t partition) {
  const auto batch = next_batch(records, partition);
  return put(*batch);
}

sluice_status PluginHarness::put_again() {
  const std::vector<TestRecord> records = last_records_;
  next_offsets_[last_partition_] -= static_cast<std::int64_t>(records.size());
  return put(records, last_partition_);
}

sluice_status PluginHarness::put(const TestBatch& batch) {
  host.position = 0;
  return plugin->put(plugin, batch.raw());
}

sluice_status PluginHarness::process(const std::vector<TestRecord>& records) {
  const auto batch = next_batch(records, 0);
  return process(*batch);
}

sluice_status PluginHarness::process(const TestBatch& batch) {
  host.position = 0;
  host.emitted.clear();
  return plugin->process(plugin, batch.raw());
}

sluice_status PluginHarness::flush() {
  return plugin->flush == nullptr ? SLUICE_OK : plugin->flush(plugin);
}

void PluginHarness::stop() {
  if (plugin == nullptr) {
    return;
  }
  if (is_started_) {
    plugin->stop(plugin);
  }
  plugin->destroy(plugin);
  plugin = nullptr;
}

std::int64_t PluginHarness::next_offset(std::int32_t partition) const {
  const auto found = next_offsets_.find(partition);
  return found == next_offsets_.end() ? 0 : found->second;
}

void PluginHarness::set_next_offset(std::int64_t offset, std::int32_t partition) {
  next_offsets_[partition] = offset;
}

std::unique_ptr<TestBatch> PluginHarness::next_batch(const std::vector<TestRecord>& records,
                                                     std::int32_t partition) {
  const std::int64_t start = next_offset(partition);
  const std::int64_t end = start + static_cast<std::int64_t>(records.size());
  const std::uint64_t slice_id = next_slice_id_++;
  host.add_slice(slice_id, partition, start, end);
  next_offsets_[partition] = end;
  last_records_ = records;
  last_partition_ = partition;
  return std::make_unique<TestBatch>(slice_id, partition, start, records);
}

}  // namespace sluice::test
