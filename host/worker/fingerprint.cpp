#include "host/worker/fingerprint.hpp"

#include <array>
#include <span>

#include "ipc/crc32c.hpp"

namespace sluice::worker {
namespace {

/// Parts one after the other: each brings its size (null is none of them) and its checksum, so that
/// no byte can change its part unnoticed.
class Digest {
 public:
  void add(const sluice_bytes& bytes) {
    const bool null = bytes.data == nullptr;
    const std::array<std::uint64_t, 3> words{
        so_far_, null ? ~std::uint64_t{0} : bytes.size,
        null ? 0 : std::uint64_t{ipc::crc32c(bytes.data, bytes.size)}};
    so_far_ = ipc::crc32c(words.data(), sizeof words);
  }
  std::uint32_t value() const { return so_far_; }

 private:
  std::uint32_t so_far_ = 0;
};

}  // namespace

Fingerprint fingerprint_of(const sluice_record& record) {
  Digest digest;
  digest.add(record.key);
  digest.add(record.value);
  for (const sluice_header& header : std::span{record.headers, record.header_count}) {
    digest.add(header.name);
    digest.add(header.value);
  }
  return {record.offset, record.timestamp_ms, digest.value()};
}

}  // namespace sluice::worker
