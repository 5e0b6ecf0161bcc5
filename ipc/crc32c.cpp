#include "ipc/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace sluice::ipc {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ ((remainder & 1U) != 0 ? kPolynomial : 0);
    }
    table[byte] = remainder;
  }
  return table;
}

constexpr auto kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(const void* bytes,
                                                                      std::size_t size) noexcept {
  const auto* next = static_cast<const unsigned char*>(bytes);
  std::uint64_t crc = 0xFFFFFFFF;
  for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, next, sizeof word);
    crc = _mm_crc32_u64(crc, word);
    next += sizeof word;
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (; size > 0; --size) rest = _mm_crc32_u8(rest, *next++);
  return ~rest;
}

// False until the dynamic initialisers have run: then the table answers, with the same result.
const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t crc32c_by_table(const void* bytes, std::size_t size) noexcept {
  const auto* next = static_cast<const unsigned char*>(bytes);
  std::uint32_t crc = 0xFFFFFFFF;
  for (; size > 0; --size) crc = kTable[(crc ^ *next++) & 0xFFU] ^ (crc >> 8);
  return ~crc;
}

std::uint32_t crc32c(const void* bytes, std::size_t size) noexcept {
#if defined(__x86_64__)
  if (kHasInstruction) return crc32c_by_instruction(bytes, size);
#endif
  return crc32c_by_table(bytes, size);
}

}  // namespace sluice::ipc
