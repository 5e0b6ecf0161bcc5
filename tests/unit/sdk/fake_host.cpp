#include "unit/sdk/fake_host.hpp"

namespace sluice::test {

namespace {

FakeHost& of(const sluice_host* host) {
  return *static_cast<FakeHost*>(host->context);
}

std::string text(sluice_bytes bytes) {
  return bytes.data == nullptr ? "" : std::string{static_cast<const char*>(bytes.data), bytes.size};
}

std::optional<std::string> copy(sluice_bytes bytes) {
  return bytes.data == nullptr ? std::nullopt : std::optional{text(bytes)};
}

void set_error(const sluice_host* host, const sluice_error* error) noexcept {
  of(host).error = {text(error->message), text(error->key), error->code, error->retry_after_ms};
}

sluice_status fail_record(const sluice_host* host, std::uint64_t slice_id, std::int64_t offset,
                          const sluice_error* why) noexcept {
  FakeHost& fake = of(host);
  const auto slice = fake.slices.find(slice_id);
  if (slice == fake.slices.end() || offset < slice->second.start_offset ||
      offset >= slice->second.end_offset) {
    return SLUICE_FAIL;
  }
  fake.failed.try_emplace({slice_id, offset}, text(why->message));
  return SLUICE_OK;
}

sluice_status emit(const sluice_host* host, const sluice_out* outs, std::uint32_t count) noexcept {
  FakeHost& fake = of(host);
  for (std::uint32_t index = 0; index < count; ++index) {
    const sluice_out& out = outs[index];
    if (!fake.emitted.empty() && out.source_index < fake.emitted.back().source_index) {
      fake.emitted.clear();
      return SLUICE_FAIL;
    }
    Emitted& emitted = fake.emitted.emplace_back();
    emitted.source_index = out.source_index;
    emitted.value_address = out.value.data;
    emitted.record = {copy(out.key), copy(out.value), {}, out.timestamp_ms, out.flags};
    for (std::uint32_t at = 0; at < out.header_count; ++at) {
      emitted.record.headers.emplace_back(text(out.headers[at].name), copy(out.headers[at].value));
    }
  }
  return SLUICE_OK;
}

void log(const sluice_host* host, sluice_log_level level, sluice_bytes line) noexcept {
  of(host).lines.emplace_back(level, text(line));
}

const sluice_slice* slice(const sluice_host* host, std::uint64_t slice_id) noexcept {
  const auto found = of(host).slices.find(slice_id);
  return found == of(host).slices.end() ? nullptr : &found->second;
}

sluice_bytes topic(const sluice_host* host, std::uint32_t topic_index) noexcept {
  const std::string& name = of(host).topic;
  return topic_index == 0 ? sluice_bytes{name.data(), name.size()} : sluice_bytes{nullptr, 0};
}

}  // namespace

FakeHost::FakeHost() {
  raw.size = sizeof raw;
  raw.abi_minor = SLUICE_ABI_MINOR;
  raw.context = this;
  raw.position = &position;
  raw.set_error = set_error;
  raw.fail_record = fail_record;
  raw.emit = emit;
  raw.log = log;
  raw.slice = slice;
  raw.topic = sluice::test::topic;
  raw.request_flush = [](const sluice_host* host) noexcept { ++of(host).flush_requests; };
  raw.keep_alive = [](const sluice_host* host) noexcept { ++of(host).keep_alives; };
  raw.get_extension = [](const sluice_host*, const char*) noexcept -> const void* {
    return nullptr;
  };
}

void FakeHost::add_slice(std::uint64_t slice_id, std::int32_t partition, std::int64_t start_offset,
                         std::int64_t end_offset) {
  sluice_slice& slice = slices[slice_id];
  slice.size = sizeof slice;
  slice.attempt = attempt;
  slice.slice_id = slice_id;
  slice.job = {"job", 3};
  slice.topic = {topic.data(), topic.size()};
  slice.partition = partition;
  slice.start_offset = start_offset;
  slice.end_offset = end_offset;
}

}  // namespace sluice::test
