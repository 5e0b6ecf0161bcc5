#include "host/log/rate_limit.hpp"

#include <utility>

namespace sluice::log {

RateLimit::Answer RateLimit::admit(std::string_view cause, std::string_view line,
                                   Milliseconds now) {
  auto found = windows_.find(cause);
  if (found == windows_.end() && windows_.size() >= kCausesMax) {
    forget_quiet(now);
    if (windows_.size() >= kCausesMax) found = windows_.find("");
  }
  if (found == windows_.end()) {
    const bool room = windows_.size() < kCausesMax;
    windows_.emplace(room ? cause : "", Window{.opened = now, .swallowed = 0, .newest = {}});
    return {Verdict::Print, 0};
  }
  Window& window = found->second;
  if (now - window.opened < kWindow) {
    ++window.swallowed;
    window.newest = line;
    return {Verdict::Swallow, 0};
  }
  const std::uint64_t swallowed = window.swallowed;
  window = Window{.opened = now, .swallowed = 0, .newest = {}};
  return {Verdict::Print, swallowed};
}

std::vector<RateLimit::Due> RateLimit::take_due(Milliseconds now) {
  std::vector<Due> due;
  for (auto& [cause, window] : windows_) {
    if (now - window.opened < kWindow || window.swallowed == 0) continue;
    due.push_back({std::move(window.newest), window.swallowed});
    // Its line goes out now, so the next minute begins now.
    window = Window{.opened = now, .swallowed = 0, .newest = {}};
  }
  forget_quiet(now);
  return due;
}

void RateLimit::forget_quiet(Milliseconds now) {
  std::erase_if(windows_, [now](const auto& entry) {
    return now - entry.second.opened >= kWindow && entry.second.swallowed == 0;
  });
}

}  // namespace sluice::log
