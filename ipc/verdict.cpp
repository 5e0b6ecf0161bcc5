#include "ipc/verdict.hpp"

#include <algorithm>

namespace sluice::ipc {

VerdictSlot encode_verdict(const Verdict& verdict) {
  VerdictSlot slot;
  slot.worker_slot = verdict.worker_slot;
  slot.worker_pid = verdict.worker_pid;
  slot.signal = verdict.signal;
  if (verdict.plugin_sha256.size() == slot.plugin_sha256.size()) {
    std::copy(verdict.plugin_sha256.begin(), verdict.plugin_sha256.end(),
              slot.plugin_sha256.begin());
  }
  const std::string encoded = encode_failure_text(verdict.text);
  const std::string_view kept = cut_at_character(encoded, slot.text.size());
  slot.text_size = static_cast<std::uint32_t>(kept.size());
  std::copy(kept.begin(), kept.end(), slot.text.begin());
  return slot;
}

Verdict decode_verdict(const VerdictSlot& slot) {
  const std::size_t size = std::min<std::size_t>(slot.text_size, slot.text.size());
  Verdict verdict{decode_failure_text({slot.text.data(), size}),
                  slot.worker_slot,
                  slot.worker_pid,
                  slot.signal,
                  {}};
  if (slot.plugin_sha256[0] != '\0') {
    verdict.plugin_sha256.assign(slot.plugin_sha256.data(), slot.plugin_sha256.size());
  }
  return verdict;
}

}  // namespace sluice::ipc
