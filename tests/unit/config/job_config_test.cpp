#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "config_text.hpp"
#include "unit/temporary_folder.hpp"

namespace sluice::config {

TEST_CASE("the example of interfaces.md is read as it says", "[config]") {
  const auto job = parse_job(R"(
name = "orders-archive"                 # jobs.d/orders-archive.toml
topics = ["orders"]
tasks.max = 4
connector.class = "file"
file = "/var/lib/sluice/out/{topic}-{partition}.jsonl"
transforms = [{ name = "big", type = "filter", value.size.min = 1000 }]
errors.tolerance = "all"
)",
                             Format::Toml, "f")
                       .value();
  CHECK(job.name == "orders-archive");
  CHECK(job.topics == Lines{"orders"});
  CHECK(job.tasks_max == 4);
  CHECK(job.errors_tolerance == ErrorsTolerance::All);
  CHECK(job.sink.type == "file");
  REQUIRE(job.sink.keys.size() == 1);
  CHECK(job.sink.keys.at("file").value == "/var/lib/sluice/out/{topic}-{partition}.jsonl");
  CHECK(job.sink.keys.at("file").position == Position{6, 1});
  REQUIRE(job.processors.size() == 1);
  CHECK(job.processors[0].name == "big");
  CHECK(job.processors[0].type == "filter");
  CHECK(job.processors[0].prefix == "transforms.big.");
  CHECK(job.processors[0].keys.at("value.size.min").value == "1000");
  CHECK(job.processors[0].keys.at("value.size.min").position == Position{7, 48});
}

TEST_CASE("with errors.tolerance = all a failed slice is isolated, unless the job says otherwise",
          "[config]") {
  const JobConfig job = job_with("errors.tolerance = \"all\"");
  CHECK(job.slice_on_failure == OnFailure::Isolate);
  CHECK(effective(job, "slice.on.failure") == "isolate");
  const JobConfig halting = job_with("errors.tolerance = \"all\"\nslice.on.failure = \"halt\"");
  CHECK(halting.slice_on_failure == OnFailure::Halt);
  CHECK(effective(halting, "slice.on.failure") == "halt");
  CHECK(job_with("").slice_on_failure == OnFailure::Halt);
}

TEST_CASE("defaults are those of interfaces.md", "[config]") {
  const JobConfig job = job_with("");
  CHECK(job.mode == Mode::Persistent);
  CHECK(job.tasks_max == 1);
  CHECK(job.slicer_assignment == Assignment::Sticky);
  CHECK(job.slice_max_records == 10'000);
  CHECK(job.slice_max_bytes == 16 << 20);
  CHECK(job.slice_attempts_max == 4);
  CHECK(job.slice_retention_records == 10'000);
  CHECK(job.slice_retention_ms == 86'400'000);
  CHECK(job.worker_batch_max_records == 1'000);
  CHECK(job.worker_batch_max_bytes == 1 << 20);
  CHECK(job.worker_flush_max_records == 50'000);
  CHECK(job.worker_flush_max_bytes == 64 << 20);
  CHECK(job.worker_flush_interval_ms == 1'000);
  CHECK(job.worker_credit_slices == 256);
  CHECK(job.worker_credit_records == 80'000);
  CHECK_FALSE(job.worker_memory_max);
  CHECK_FALSE(job.worker_core);
  CHECK(job.worker_rebalance_delay_ms == 60'000);
  CHECK(job.task_call_timeout_ms == 60'000);
  CHECK(job.task_stop_timeout_ms == 30'000);
  CHECK(job.task_retry_timeout_ms == -1);
  CHECK(job.errors_tolerance == ErrorsTolerance::None);
  CHECK_FALSE(job.errors_retry_timeout_ms);
  CHECK(job.errors_retry_delay_max_ms == 60'000);
  CHECK(job.auto_offset_reset == OffsetReset::Earliest);
  CHECK(job.isolation_level == Isolation::ReadCommitted);
  CHECK(job.restart_policy == RestartPolicy::Backoff);
}

TEST_CASE("worker.credit.records follows slice and batch unless it is written", "[config]") {
  CHECK(job_with("slice.max.records = 2000").worker_credit_records == 16'000);
  CHECK(effective(job_with("slice.max.records = 2000"), "worker.credit.records") == "16000");
  // Small slices go through a worker several in a batch: eight of them would be less than one.
  CHECK(job_with("slice.max.records = 100").worker_credit_records == 8'000);
  CHECK(job_with("slice.max.records = 100\nworker.batch.max.records = 50").worker_credit_records ==
        800);
  CHECK(job_with("slice.max.records = 5\nworker.credit.records = 5").worker_credit_records == 5);
}

TEST_CASE("choices reach the struct by their names", "[config]") {
  CHECK(job_with("mode = \"once\"").mode == Mode::Once);
  const JobConfig job = job_with(
      "consumer.override.auto.offset.reset = \"latest\"\n"
      "consumer.override.isolation.level = \"read_uncommitted\"");
  CHECK(job.auto_offset_reset == OffsetReset::Latest);
  CHECK(job.isolation_level == Isolation::ReadUncommitted);
  CHECK(job.consumer.empty());
  CHECK(job_with("consumer.override.auto.offset.reset = \"none\"").auto_offset_reset ==
        OffsetReset::None);
}

TEST_CASE("the effective configuration has integers and leaves out what nothing honours",
          "[config]") {
  const JobConfig job = job_with("task.stop.timeout.ms = \"2m\"\nfile = \"${env:OUT}\"");
  CHECK(effective(job, "task.stop.timeout.ms") == "120000");
  CHECK(effective(job, "worker.flush.max.bytes") == "67108864");
  CHECK(effective(job, "task.retry.timeout.ms") == "-1");
  CHECK(effective(job, "file") == "${env:OUT}");
  CHECK(effective(job, "restart.backoff.ms") == "10000");
  CHECK(effective(job, "expansion.settle.ms") == "<absent>");
}

TEST_CASE("the map that was read is kept as it was written", "[config]") {
  const JobConfig job = job_with("task.stop.timeout.ms = \"2m\"");
  using Pair = std::pair<std::string, std::string>;
  CHECK(job.config == std::vector<Pair>{{"name", "orders-archive"},
                                        {"topics", "orders"},
                                        {"connector.class", "file"},
                                        {"task.stop.timeout.ms", "2m"}});
  CHECK(job.position("task.stop.timeout.ms") == Position{4, 1});
  CHECK(job.position("nothing") == Position{0, 0});
}

TEST_CASE("keys that do not begin as the host's are the sink's, dots and all", "[config]") {
  const JobConfig job = job_with("format = \"raw\"\n[bucket]\nregion.name = \"x\"");
  CHECK(job.sink.keys.size() == 2);
  CHECK(job.sink.keys.at("bucket.region.name").value == "x");
}

TEST_CASE("a file is read by the end of its name", "[config]") {
  const TemporaryFolder folder;
  CHECK(load_job(folder.write("a.toml", kJobHead)).value().name == "orders-archive");
  CHECK(load_job(folder.write("a.json", R"({"name":"j","config":{"topics":"t",
      "connector.class":"x"}})"))
            .value()
            .name == "j");
  CHECK(load_job(folder.write("a.properties", "name=p\ntopics=t\nconnector.class=x\n"))
            .value()
            .name == "p");
  CHECK(load_job(folder.write("bom.json",
                              "\xEF\xBB\xBF{\"name\":\"b\",\"topics\":\"t\","
                              "\"connector.class\":\"x\"}"))
            .value()
            .name == "b");
}

TEST_CASE("a file that cannot be read, or is no job file, is one problem", "[config]") {
  const TemporaryFolder folder;
  const auto text = [](const std::filesystem::path& file) { return load_job(file).error().text(); };
  const std::string path = folder.path().string();
  CHECK(text(folder.path() / "none.toml") ==
        path + "/none.toml: cannot be read: No such file or directory");
  CHECK(text(folder.write("a.yaml", "")) ==
        path + "/a.yaml: is no job file; a name ends in .toml, .json or .properties");
  CHECK(text(folder.write("big.toml", std::string(kFileBytesMax + 1, '#'))) ==
        path + "/big.toml: is larger than 4 MiB");
  std::filesystem::create_directory(folder.path() / "d.toml");
  CHECK(text(folder.path() / "d.toml") == path + "/d.toml: is a folder; name a file");
}

}  // namespace sluice::config
