// Whether a record above the client's receive limit is why a partition stands still (B11).
// librdkafka 2.0.2 drops such an answer with the connection and asks again, for ever: no record
// and no error reaches the partition, only the client's error callback tells, twice, and then, as
// the text is the same, once in 30 s. So its silence means that nothing has changed, until it tells
// of something else. An answer holds what several partitions wait for, so what it tells blames
// nobody; a partition that has been without progress for some seconds does. Task thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace sluice::worker {

class Oversize {
 public:
  /// Others of the same answer have got their turn by then, and what lies before such a record has
  /// come: the library connects again every second, and begins each fetch with another partition.
  /// Well within the 30 s of B11.
  static constexpr std::int64_t kPatienceUs = 8'000'000;
  /// Told again within this time if it is still so: 30 s of silence, and some more.
  static constexpr std::int64_t kToldAgainUs = 60'000'000;

  /// The source has told of a refused answer.
  void note(std::int64_t now_us, std::string text) {
    noted_us_ = now_us;
    text_ = std::move(text);
  }
  /// The source has told of a connection that failed otherwise: that may be why nothing comes.
  void forget() { noted_us_.reset(); }
  /// A partition that has been without progress for `stalled_us`.
  bool explains(std::int64_t stalled_us, std::int64_t now_us) const {
    return stalled_us >= kPatienceUs && noted_us_ && now_us - *noted_us_ < kToldAgainUs;
  }
  /// For people. The library's text has the size and the limit.
  std::string sentence(const std::string& partition, std::int64_t offset) const {
    return partition + " cannot be read at offset " + std::to_string(offset) +
           ": the record there makes an answer above the client's limit (" + text_ +
           "); raise consumer.override.receive.message.max.bytes";
  }

 private:
  std::optional<std::int64_t> noted_us_;
  std::string text_;
};

}  // namespace sluice::worker
