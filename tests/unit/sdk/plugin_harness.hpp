// One plugin instance, driven as a worker drives it: start, put or process, flush, stop. Works for
// a class (sluice::sink<T>) and for a built file alike, because it only knows the C ABI. Settings
// go through the worker's own code. It counts offsets, and frees a batch as soon as the call
// returned.
//
//   PluginHarness sink{PluginHarness::load("file_sink.so"), {{"file", path}}};
//   REQUIRE(sink.start() == SLUICE_OK);
//   REQUIRE(sink.put({{"k", "v"}}) == SLUICE_OK);
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/worker/plugin_settings.hpp"
#include "unit/sdk/fake_host.hpp"

namespace sluice::test {

class PluginHarness {
 public:
  using Config = std::map<std::string, std::string>;

  /// The only plugin of a file in the build's plugin folder. `alias`: or another name of it.
  static worker::PluginChoice load(const std::string& file, const std::string& alias = {});
  /// A class of the test's own.
  static worker::PluginChoice of_class(const sluice_descriptor* descriptor);
  /// What the worker's --validate says of this configuration, as "key: message", joined by "; ".
  static std::string problems(const worker::PluginChoice& choice, const Config& config);

  PluginHarness(const worker::PluginChoice& choice, const Config& config = {});
  PluginHarness(const PluginHarness&) = delete;
  PluginHarness& operator=(const PluginHarness&) = delete;
  ~PluginHarness();

  sluice_status start();
  /// A new batch of `partition`, in a slice of its own.
  sluice_status put(const std::vector<TestRecord>& records, std::int32_t partition = 0);
  /// The batch of the last put again, as after RETRY.
  sluice_status put_again();
  sluice_status put(const TestBatch& batch);
  sluice_status process(const std::vector<TestRecord>& records);
  sluice_status process(const TestBatch& batch);
  sluice_status flush();
  void stop();

  std::int64_t next_offset(std::int32_t partition = 0) const;
  void set_next_offset(std::int64_t offset, std::int32_t partition = 0);

  FakeHost host;
  sluice_plugin* plugin = nullptr;  ///< null when destroyed

 private:
  std::unique_ptr<TestBatch> next_batch(const std::vector<TestRecord>& records,
                                        std::int32_t partition);

  worker::CheckedSettings settings_;
  bool is_started_ = false;
  std::uint64_t next_slice_id_ = 1;
  std::map<std::int32_t, std::int64_t> next_offsets_;
  std::vector<TestRecord> last_records_;
  std::int32_t last_partition_ = 0;
};

}  // namespace sluice::test
