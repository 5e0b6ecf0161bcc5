#include "host/worker/plugin_chain.hpp"

#include <algorithm>
#include <utility>

#include "host/base/assert.hpp"
#include "ipc/crash_handler.hpp"

namespace sluice::worker {

using ipc::FailureClass;
using ipc::Phase;

struct PluginChain::Stage {
  Stage(BridgeContext& context, std::size_t stage_index, ChainLink made_of)
      : link{std::move(made_of)}, bridge{context, stage_index, link.alias} {}

  bool is_sink() const { return link.choice.plugin->descriptor->kind == SLUICE_KIND_SINK; }

  ChainLink link;
  HostBridge bridge;
  sluice_plugin* plugin = nullptr;  ///< null: not created
  bool is_started = false;
  Emission emission;
  std::vector<std::uint32_t>
      origins;  ///< of the emission: index in the batch that entered the chain
};

namespace {

constexpr std::string_view kStart = "start";

FailureClass class_of(sluice_status status) {
  switch (status) {
    case SLUICE_RETRY:
      return FailureClass::RetryUsedUp;
    case SLUICE_NOT_CONNECTED:
      return FailureClass::NotConnected;
    case SLUICE_CONFIG:
      return FailureClass::Configuration;
    default:
      return FailureClass::PluginFail;
  }
}

std::string words_of(const SaidError& said, sluice_status status) {
  if (!said.was_set || said.message.empty()) return "the plugin gave no reason";
  std::string words = said.message;
  if (status == SLUICE_CONFIG && !said.key.empty()) words.insert(0, said.key + ": ");
  if (said.code != 0) words += " (code " + std::to_string(said.code) + ")";
  return words;
}

std::uint64_t payload_bytes(std::span<const sluice_record> records) {
  std::uint64_t bytes = 0;
  for (const sluice_record& record : records) bytes += record.key.size + record.value.size;
  return bytes;
}

sluice_batch batch_of(std::uint64_t slice_id, std::span<const sluice_record> records) {
  return {sizeof(sluice_batch),
          sizeof(sluice_record),
          slice_id,
          static_cast<std::uint32_t>(records.size()),
          0,
          records.data()};
}

/// Adds the time that passes until the end of the scope, waits between attempts excepted.
class PhaseTimer {
 public:
  PhaseTimer(const TaskTime& time, const Attempts& attempts, std::uint64_t& phase_us,
             std::uint64_t& wait_us)
      : time_{time},
        attempts_{attempts},
        phase_us_{phase_us},
        wait_us_{wait_us},
        begun_us_{time.now_us()} {}
  ~PhaseTimer() {
    const auto passed = static_cast<std::uint64_t>(time_.now_us() - begun_us_);
    const auto waited = std::min(static_cast<std::uint64_t>(attempts_.waited_us), passed);
    phase_us_ += passed - waited;
    wait_us_ += waited;
  }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  const TaskTime& time_;
  const Attempts& attempts_;
  std::uint64_t& phase_us_;
  std::uint64_t& wait_us_;
  std::int64_t begun_us_;
};

}  // namespace

PluginChain::PluginChain(ChainOptions options, std::vector<ChainLink> links, BridgeContext& context,
                         Patience& patience, const TaskTime& time)
    : options_{std::move(options)}, context_{context}, patience_{patience}, time_{time} {
  SLUICE_ASSERT(!links.empty());
  for (ChainLink& link : links) {
    stages_.push_back(std::make_unique<Stage>(context, stages_.size(), std::move(link)));
  }
  SLUICE_ASSERT(stages_.back()->is_sink());
}

PluginChain::~PluginChain() = default;

bool PluginChain::is_up() const {
  return std::all_of(stages_.begin(), stages_.end(),
                     [](const auto& stage) { return stage->is_started; });
}

std::int64_t PluginChain::retry_timeout_ms(const Stage& stage) const {
  const RetryPolicy& retry = options_.retry;
  if (!stage.is_sink() && retry.errors_retry_timeout_ms) return *retry.errors_retry_timeout_ms;
  return retry.task_retry_timeout_ms;
}

void PluginChain::note_failure(const Stage& stage, const char* name, sluice_status status) {
  const SaidError& said = stage.bridge.said();
  // abi.h: CONFIG is start's alone; elsewhere it is a failure of the slice and not of the job.
  if (status == SLUICE_CONFIG && name != kStart) status = SLUICE_FAIL;
  failure_.status = status;
  failure_.failure_class = class_of(status);
  failure_.stage_index = stage.bridge.stage_index();
  failure_.text = {stage.bridge.alias(), name, words_of(said, status)};
  failure_.retry_after_ms = said.was_set ? said.retry_after_ms : -1;
}

/// Repeats `call` while it answers RETRY and patience lasts.
template <typename Call>
CallEnd PluginChain::call(Stage& stage, const char* name, Attempts& attempts, const Call& call) {
  for (;;) {
    stage.bridge.begin_call(name);
    const sluice_status status = call();
    if (status == SLUICE_OK) return CallEnd::Ok;
    note_failure(stage, name, status);
    if (status != SLUICE_RETRY) return CallEnd::Failed;
    const Verdict verdict = patience_.wait(failure_, attempts, retry_timeout_ms(stage));
    if (verdict == Verdict::UsedUp) return CallEnd::Failed;
    if (verdict == Verdict::Interrupted) return CallEnd::Interrupted;
  }
}

CallEnd PluginChain::bring_up() {
  for (const auto& stage : stages_) {
    if (stage->is_started) continue;
    if (const CallEnd end = bring_up(*stage); end != CallEnd::Ok) return end;
  }
  return CallEnd::Ok;
}

CallEnd PluginChain::bring_up(Stage& stage) {
  Attempts attempts;
  for (;;) {
    CallEnd end = start(stage);
    if (end == CallEnd::Ok) end = open_all(stage);
    if (end != CallEnd::Failed) return end;
    // Lost again while it opened its partitions: a new instance, but not at once.
    if (failure_.status != SLUICE_NOT_CONNECTED || !stage.is_started) return end;
    destroy(stage, SLUICE_REASON_RESET);
    const Verdict verdict = patience_.wait(failure_, attempts, retry_timeout_ms(stage));
    if (verdict == Verdict::UsedUp) return CallEnd::Failed;
    if (verdict == Verdict::Interrupted) return CallEnd::Interrupted;
  }
}

/// Null if the instance has what abi.h requires of it.
const char* PluginChain::missing_function(const Stage& stage) {
  const sluice_plugin* plugin = stage.plugin;
  if (plugin == nullptr) return "create returned no instance";
  if (plugin->size < sizeof(sluice_plugin))
    return "the instance's struct is smaller than ABI 1.0's";
  if (plugin->start == nullptr || plugin->stop == nullptr || plugin->destroy == nullptr) {
    return "the instance has no start, stop or destroy function";
  }
  if (stage.is_sink() && plugin->put == nullptr) return "the sink has no put function";
  if (!stage.is_sink() && plugin->process == nullptr) {
    return "the processor has no process function";
  }
  return nullptr;
}

/// start() may be called again on the same instance until it answers OK (abi.h).
CallEnd PluginChain::start(Stage& stage) {
  context_.pulse.enter(Phase::Start, 0, 0);
  if (stage.plugin == nullptr) {
    stage.bridge.begin_call("create");
    stage.plugin = stage.link.choice.plugin->descriptor->create(stage.bridge.host());
    const char* missing = missing_function(stage);
    if (missing != nullptr) {
      stage.plugin = nullptr;  // not even destroy() can be relied on
      note_failure(stage, "create", SLUICE_FAIL);
      failure_.text.message = missing;
      return CallEnd::Failed;
    }
  }
  sluice_start parameters{};
  parameters.size = sizeof(parameters);
  parameters.worker_slot = options_.worker_slot;
  parameters.config = stage.link.settings->view();
  parameters.job = {options_.job.data(), options_.job.size()};
  Attempts attempts;
  for (;;) {
    context_.pulse.enter(Phase::Start);
    stage.bridge.begin_call(kStart.data());
    const sluice_status status = stage.plugin->start(stage.plugin, &parameters);
    stage.is_started = status == SLUICE_OK;
    if (stage.is_started) return CallEnd::Ok;
    note_failure(stage, kStart.data(), status);
    if (status != SLUICE_RETRY && status != SLUICE_NOT_CONNECTED) return CallEnd::Failed;
    const Verdict verdict = patience_.wait(failure_, attempts, retry_timeout_ms(stage));
    if (verdict == Verdict::UsedUp) return CallEnd::Failed;
    if (verdict == Verdict::Interrupted) return CallEnd::Interrupted;
  }
}

CallEnd PluginChain::open_all(Stage& stage) {
  if (partitions_.empty() || stage.plugin->open == nullptr) return CallEnd::Ok;
  Attempts attempts;
  return call(stage, "open", attempts, [&] {
    context_.pulse.enter(Phase::Start);
    return stage.plugin->open(stage.plugin, partitions_.data(),
                              static_cast<std::uint32_t>(partitions_.size()), SLUICE_REASON_RESET);
  });
}

CallEnd PluginChain::open(const sluice_partition& partition) {
  for (const auto& stage : stages_) {
    if (stage->plugin->open == nullptr) continue;
    Attempts attempts;
    const CallEnd end = call(*stage, "open", attempts, [&] {
      context_.pulse.enter(Phase::Start);
      return stage->plugin->open(stage->plugin, &partition, 1, SLUICE_REASON_ASSIGNED);
    });
    if (end == CallEnd::Ok) continue;
    // Those before it have it open.
    for (const auto& before : stages_) {
      if (before == stage) break;
      if (before->plugin->close == nullptr) continue;
      before->bridge.begin_call("close");
      before->plugin->close(before->plugin, &partition, 1, SLUICE_REASON_RESET);
    }
    return end;
  }
  partitions_.push_back(partition);
  return CallEnd::Ok;
}

void PluginChain::close(std::uint32_t topic_index, std::int32_t partition, sluice_reason reason) {
  const auto at = std::find_if(partitions_.begin(), partitions_.end(), [&](const auto& open) {
    return open.topic_index == topic_index && open.partition == partition;
  });
  if (at == partitions_.end()) return;
  const sluice_partition closing = *at;
  partitions_.erase(at);
  for (const auto& stage : stages_) {
    if (!stage->is_started || stage->plugin->close == nullptr) continue;
    context_.pulse.enter(Phase::Stop);
    stage->bridge.begin_call("close");
    const sluice_status status = stage->plugin->close(stage->plugin, &closing, 1, reason);
    if (status == SLUICE_OK) continue;
    note_failure(*stage, "close", status);
    context_.log.write(LogLevel::Warning, stage->bridge.alias(), "close: " + failure_.text.message);
  }
}

void PluginChain::destroy(Stage& stage, sluice_reason reason) {
  if (stage.plugin == nullptr) return;
  context_.pulse.enter(Phase::Stop);
  sluice_plugin* plugin = stage.plugin;
  if (stage.is_started) {
    if (!partitions_.empty() && plugin->close != nullptr) {
      stage.bridge.begin_call("close");
      plugin->close(plugin, partitions_.data(), static_cast<std::uint32_t>(partitions_.size()),
                    reason);
    }
    stage.bridge.begin_call("stop");
    plugin->stop(plugin);
  }
  stage.is_started = false;
  stage.plugin = nullptr;
  stage.bridge.begin_call("destroy");
  plugin->destroy(plugin);
}

void PluginChain::take_down(sluice_reason reason) {
  for (const auto& stage : stages_) destroy(*stage, reason);
  partitions_.clear();
}

bool PluginChain::roll_back(Stage& stage) {
  if (!stage.is_started || stage.plugin->rollback == nullptr) return false;
  context_.pulse.enter(Phase::Flush);
  stage.bridge.begin_call("rollback");
  return stage.plugin->rollback(stage.plugin) == SLUICE_OK;
}

void PluginChain::reset(std::optional<std::size_t> lost_stage) {
  context_.flush_requested.store(false, std::memory_order_relaxed);
  for (const auto& stage : stages_) {
    const bool is_lost = lost_stage == stage->bridge.stage_index();
    if (is_lost || !roll_back(*stage)) destroy(*stage, SLUICE_REASON_RESET);
  }
}

CallEnd PluginChain::run(std::uint64_t slice_id, std::span<const sluice_record> records,
                         std::uint64_t bytes, RecordCounts& counts, PhaseTimes& times) {
  SLUICE_ASSERT(records.size() <= options_.batch_records_max && !records.empty());
  slice_id_ = slice_id;
  counts_ = &counts;
  times_ = &times;
  const bool has_processors = stages_.size() > 1;
  reached_.assign(has_processors ? records.size() : 0, 0);
  counts.records = static_cast<std::uint32_t>(records.size());
  counts.bytes = bytes;
  if (!has_processors) {
    counts.out = counts.records;
    counts.out_bytes = bytes;
    return put(*stages_.front(), records);
  }
  const CallEnd end = push(0, records, {});
  counts.filtered = static_cast<std::uint32_t>(std::count(reached_.begin(), reached_.end(), 0));
  return end;
}

/// Through the rest of the chain, in batches of the allowed size. Empty `origins`: the records are
/// those that entered the chain.
CallEnd PluginChain::push(std::size_t index, std::span<const sluice_record> records,
                          std::span<const std::uint32_t> origins) {
  const bool is_sink = index + 1 == stages_.size();
  for (std::size_t at = 0; at < records.size(); at += options_.batch_records_max) {
    const auto part =
        records.subspan(at, std::min<std::size_t>(options_.batch_records_max, records.size() - at));
    const auto part_origins = origins.empty() ? origins : origins.subspan(at, part.size());
    const CallEnd end = is_sink ? put(*stages_[index], part) : process(index, part, part_origins);
    if (end != CallEnd::Ok) return end;
    if (!is_sink) continue;
    counts_->out += static_cast<std::uint32_t>(part.size());
    counts_->out_bytes += payload_bytes(part);
    mark_reached(part_origins);
  }
  return CallEnd::Ok;
}

void PluginChain::mark_reached(std::span<const std::uint32_t> origins) {
  for (const std::uint32_t origin : origins) reached_[origin] = 1;
}

void PluginChain::enter(Phase phase, std::span<const sluice_record> records) {
  ipc::hold_offsets(&records.front().offset, sizeof(sluice_record), records.size());
  context_.pulse.enter(phase, slice_id_, records.front().offset);
}

CallEnd PluginChain::process(std::size_t index, std::span<const sluice_record> records,
                             std::span<const std::uint32_t> origins) {
  Stage& stage = *stages_[index];
  const sluice_batch batch = batch_of(slice_id_, records);
  {
    Attempts attempts;
    const PhaseTimer timer{time_, attempts, times_->process_us, times_->wait_us};
    const CallEnd end = call(stage, "process", attempts, [&] {
      stage.bridge.begin_emission(batch, stage.emission);
      enter(Phase::Process, records);
      return stage.plugin->process(stage.plugin, &batch);
    });
    stage.bridge.end_emission();
    if (end != CallEnd::Ok) return end;
  }
  stage.origins.assign(stage.emission.sources.begin(), stage.emission.sources.end());
  if (!origins.empty()) {
    for (std::uint32_t& origin : stage.origins) origin = origins[origin];
  }
  return push(index + 1, stage.emission.records, stage.origins);
}

CallEnd PluginChain::put(Stage& sink, std::span<const sluice_record> records) {
  const sluice_batch batch = batch_of(slice_id_, records);
  Attempts attempts;
  const PhaseTimer timer{time_, attempts, times_->put_us, times_->wait_us};
  return call(sink, "put", attempts, [&] {
    enter(Phase::Put, records);
    return sink.plugin->put(sink.plugin, &batch);
  });
}

CallEnd PluginChain::flush(PhaseTimes& times) {
  context_.flush_requested.store(false, std::memory_order_relaxed);
  // The sink first: durable outputs before what processors keep of their inputs (delivery.md D2).
  for (auto at = stages_.rbegin(); at != stages_.rend(); ++at) {
    Stage& stage = **at;
    if (stage.plugin->flush == nullptr) continue;
    Attempts attempts;
    const PhaseTimer timer{time_, attempts, times.flush_us, times.wait_us};
    const CallEnd end = call(stage, "flush", attempts, [&] {
      context_.pulse.enter(Phase::Flush);
      return stage.plugin->flush(stage.plugin);
    });
    if (end != CallEnd::Ok) return end;
  }
  return CallEnd::Ok;
}

}  // namespace sluice::worker
