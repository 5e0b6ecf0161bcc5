// An outlet by hand: what it took, and answers by a script. Everything is acknowledged with the
// next serve() unless the script says otherwise. The outlet comes and goes with its writer; what
// it has seen stays with the test.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/dead_letter/outlet.hpp"

namespace sluice::dead_letter::fixture {

struct OutletWorld {
  struct Sent {
    std::uint64_t tag = 0;
    std::string value;
    std::vector<std::pair<std::string, std::string>> headers;

    std::string header(const std::string& name) const {
      for (const auto& [known, value_of] : headers) {
        if (known == name) return value_of;
      }
      return "(none)";
    }
  };

  std::vector<Sent> sent;
  std::vector<std::string> acknowledged;  ///< values
  int opened = 0;
  std::optional<Error> open_error;
  std::optional<std::size_t> room;           ///< most letters under way
  std::deque<std::optional<Error>> answers;  ///< for the next letters; empty: acknowledged
  bool is_silent = false;                    ///< answers nothing
  bool is_broken = false;                    ///< until it is opened again
  std::string trouble;
  std::function<void(int timeout_ms)> on_serve;  ///< first of all

  OpenOutlet open();
};

class FakeOutlet final : public Outlet {
 public:
  explicit FakeOutlet(OutletWorld& world) : world_{world} {}

  Result<bool> send(const kafka::OutRecord& record) override {
    if (world_.room && under_way_.size() >= *world_.room) return false;
    OutletWorld::Sent sent{record.tag, text_of(record.value), {}};
    for (const auto& header : record.headers) {
      sent.headers.emplace_back(text_of(header.name), text_of(header.value));
    }
    world_.sent.push_back(sent);
    under_way_.push_back(std::move(sent));
    return true;
  }

  std::vector<Answer> serve(int timeout_ms) override {
    if (world_.on_serve) world_.on_serve(timeout_ms);
    std::vector<Answer> answers;
    if (world_.is_silent || world_.is_broken) return answers;
    for (const auto& letter : std::exchange(under_way_, {})) {
      std::optional<Error> failure;
      if (!world_.answers.empty()) {
        failure = world_.answers.front();
        world_.answers.pop_front();
      }
      if (!failure) world_.acknowledged.push_back(letter.value);
      answers.push_back({letter.tag, std::move(failure)});
    }
    return answers;
  }

  std::string trouble() const override { return world_.trouble; }
  bool is_broken() const override { return world_.is_broken; }

 private:
  static std::string text_of(const sluice_bytes& at) {
    return {static_cast<const char*>(at.data), at.size};
  }

  OutletWorld& world_;
  std::vector<OutletWorld::Sent> under_way_;
};

inline OpenOutlet OutletWorld::open() {
  return [this]() -> Result<std::unique_ptr<Outlet>> {
    if (open_error) return *open_error;
    ++opened;
    is_broken = false;
    return std::unique_ptr<Outlet>{std::make_unique<FakeOutlet>(*this)};
  };
}

}  // namespace sluice::dead_letter::fixture
