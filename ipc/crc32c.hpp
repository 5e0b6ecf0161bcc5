// CRC-32C (Castagnoli, RFC 3720 B.4), the checksum of every slot: it catches what a wild store
// leaves behind. One instruction per 8 bytes where the processor has it (SSE 4.2, checked at run
// time), a table elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::ipc {

std::uint32_t crc32c(const void* bytes, std::size_t size) noexcept;

/// The table's answer, which tests compare with the instruction's.
std::uint32_t crc32c_by_table(const void* bytes, std::size_t size) noexcept;

}  // namespace sluice::ipc
