#include "host/dead_letter/writer.hpp"

#include <utility>

#include "host/base/assert.hpp"

namespace sluice::dead_letter {

namespace {

constexpr std::int64_t kMinuteUs = 60'000'000;

std::uint64_t bytes_of(const Letter& letter) {
  const sluice_record& record = *letter.record;
  std::uint64_t bytes = record.key.size + record.value.size;
  for (std::uint32_t i = 0; i < record.header_count; ++i) {
    bytes += record.headers[i].name.size + record.headers[i].value.size;
  }
  return bytes;
}

Context less_than(Context context) {
  return context == Context::Full ? Context::Brief : Context::None;
}

}  // namespace

Writer::Writer(WriterOptions options, OpenOutlet open)
    : options_{std::move(options)}, open_{std::move(open)} {}

Writer::~Writer() = default;

bool Writer::admit(std::size_t letters, std::int64_t now_us) {
  if (!options_.rate_max) return true;
  if (now_us >= minute_until_us_) {
    minute_until_us_ = now_us + kMinuteUs;
    letters_this_minute_ = 0;
  }
  if (letters_this_minute_ + letters > *options_.rate_max) return false;
  letters_this_minute_ += letters;
  return true;
}

void Writer::add(const sluice_record& record, std::string_view topic, Cause cause,
                 std::uint64_t slice_id) {
  letters_.push_back({&record, topic, std::move(cause), slice_id, options_.context, {}, {}});
  ++unanswered_;
}

bool Writer::has_room(const Letter& letter) const {
  if (under_way_ == 0) return true;
  return under_way_ < kUnderWayMax && under_way_bytes_ + bytes_of(letter) <= kUnderWayBytesMax;
}

void Writer::send() {
  if (outlet_ && outlet_->is_broken()) begin_anew();
  for (; next_ < letters_.size(); ++next_) {
    Letter& letter = letters_[next_];
    if (letter.state != LetterState::Waiting) continue;
    if (!has_room(letter) || !send(next_)) return;
  }
}

/// False: no room. A letter that is refused at once has its answer.
bool Writer::send(std::size_t index) {
  Letter& letter = letters_[index];
  if (!outlet_) {
    auto opened = open_();
    if (!opened) {
      refuse(letter, opened.error());
      return true;
    }
    outlet_ = *std::move(opened);
  }
  const DeadLetter made{
      *letter.record, {options_.job, options_.task, letter.topic}, letter.cause, letter.context};
  kafka::OutRecord record = made.record();
  record.tag = first_tag_ + index;
  const auto taken = outlet_->send(record);
  if (taken && !*taken) return false;
  letter.state = LetterState::UnderWay;
  ++under_way_;
  under_way_bytes_ += bytes_of(letter);
  if (!taken) take({record.tag, taken.error()});
  return true;
}

void Writer::serve(int timeout_ms) {
  if (!outlet_) return;
  for (const Answer& answer : outlet_->serve(timeout_ms)) take(answer);
}

void Writer::take(const Answer& answer) {
  const std::size_t index = answer.tag - first_tag_;
  SLUICE_ASSERT(index < letters_.size(), answer.tag, first_tag_);
  Letter& letter = letters_[index];
  SLUICE_ASSERT(letter.state == LetterState::UnderWay, index);
  --under_way_;
  under_way_bytes_ -= bytes_of(letter);
  if (!answer.failure) {
    letter.state = LetterState::Written;
    --unanswered_;
  } else if (answer.failure->code() == ErrorCode::TooLarge && letter.context != Context::None) {
    letter.context = less_than(letter.context);
    letter.state = LetterState::Waiting;
    if (index < next_) next_ = index;
  } else {
    refuse(letter, *answer.failure);
  }
}

void Writer::refuse(Letter& letter, const Error& error) {
  letter.state = LetterState::Refused;
  letter.why = error.message();
  --unanswered_;
  ++refused_;
}

void Writer::retry_refused() {
  // A client remembers for minutes that a topic was forbidden or missing; a new one asks.
  if (under_way_ == 0) outlet_.reset();
  for (Letter& letter : letters_) {
    if (letter.state != LetterState::Refused) continue;
    letter.state = LetterState::Waiting;
    ++unanswered_;
  }
  refused_ = 0;
  next_ = 0;
}

/// The client is beyond repair: what it had under way goes again, through a new one.
void Writer::begin_anew() {
  outlet_.reset();
  for (Letter& letter : letters_) {
    if (letter.state == LetterState::UnderWay) letter.state = LetterState::Waiting;
  }
  under_way_ = 0;
  under_way_bytes_ = 0;
  next_ = 0;
}

std::string Writer::trouble() const {
  return outlet_ ? outlet_->trouble() : std::string{};
}

void Writer::clear() {
  SLUICE_ASSERT(unanswered_ == 0, unanswered_);
  first_tag_ += letters_.size();
  letters_.clear();
  next_ = 0;
  refused_ = 0;
}

void Writer::drop() {
  if (under_way_ > 0) begin_anew();
  unanswered_ = 0;
  clear();
}

}  // namespace sluice::dead_letter
