#include "host/worker/sha256.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

namespace sluice::worker {

namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Digest = std::unique_ptr<EVP_MD_CTX, FreeDigest>;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

std::string hex(const unsigned char* bytes, unsigned count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

Result<std::string> sha256_of_file(const std::string& path) {
  const OpenFile file{path};
  if (file.fd() < 0) return io_error("plugin file: cannot be opened", path, errno);
  const Digest digest{EVP_MD_CTX_new()};
  const Error unavailable{ErrorCode::Internal, "OpenSSL: SHA-256 is not available"};
  if (!digest || EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) != 1) return unavailable;
  std::array<unsigned char, kPieceBytes> piece;
  for (;;) {
    const ssize_t got = ::read(file.fd(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("plugin file: cannot be read", path, errno);
    if (got == 0) break;
    if (EVP_DigestUpdate(digest.get(), piece.data(), static_cast<std::size_t>(got)) != 1) {
      return unavailable;
    }
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned count = 0;
  if (EVP_DigestFinal_ex(digest.get(), bytes.data(), &count) != 1) return unavailable;
  return hex(bytes.data(), count);
}

}  // namespace sluice::worker
