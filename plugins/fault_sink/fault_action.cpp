#include "fault_sink/fault_action.hpp"

#include <array>
#include <charconv>

namespace sluice::fault {

namespace {

enum class Argument { None, Number, Text };

struct Word {
  std::string_view name;
  Act act;
  Argument argument;
};

constexpr std::array kWords{
    Word{"bad", Act::Bad, Argument::Text},
    Word{"again", Act::Again, Argument::Number},
    Word{"lost", Act::Lost, Argument::Number},
    Word{"throw", Act::Throw, Argument::None},
    Word{"config", Act::Config, Argument::None},
    Word{"crash", Act::Crash, Argument::None},
    Word{"abort", Act::Abort, Argument::None},
    Word{"exit", Act::Exit, Argument::Number},
    Word{"half", Act::Half, Argument::None},
    Word{"hang", Act::Hang, Argument::None},
    Word{"spin", Act::Spin, Argument::None},
    Word{"slow", Act::Slow, Argument::Number},
    Word{"alloc", Act::Alloc, Argument::None},
    Word{"kill", Act::Kill, Argument::None},
    Word{"kill_flush", Act::KillFlush, Argument::None},
    Word{"kill_flushed", Act::KillFlushed, Argument::None},
    Word{"crash_flush", Act::CrashFlush, Argument::None},
    Word{"overflow", Act::Overflow, Argument::None},
    Word{"block", Act::Block, Argument::None},
    Word{"deadlock", Act::Deadlock, Argument::None},
    Word{"stuck", Act::Stuck, Argument::None},
    Word{"sigstop", Act::SigStop, Argument::None},
};

std::optional<Action> with_argument(const Word& word, std::string_view argument) {
  Action action{word.act, 0, std::string{argument}};
  if (word.argument == Argument::Number) {
    const auto* end = argument.data() + argument.size();
    const auto read = std::from_chars(argument.data(), end, action.number);
    if (read.ec != std::errc{} || read.ptr != end || action.number < 0) {
      return std::nullopt;
    }
  }
  return action;
}

}  // namespace

std::optional<Action> parse_action(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  for (const Word& known : kWords) {
    if (known.name != name) {
      continue;
    }
    if (colon != std::string_view::npos && known.argument != Argument::None) {
      return with_argument(known, word.substr(colon + 1));
    }
    if (colon == std::string_view::npos && known.argument == Argument::None) {
      return Action{known.act, 0, {}};
    }
    if (colon == std::string_view::npos && known.argument == Argument::Text) {
      return Action{known.act, 0, std::string{name} + " record"};
    }
    return std::nullopt;
  }
  return Action{};
}

}  // namespace sluice::fault
