// The text beside a Failed or Waiting report: which plugin, at which stage, in which words. It
// travels in the slot's arena entry as `plugin NUL stage NUL message`, cut to 1 KiB at a character.
// Worker encodes, host decodes; the decoder treats its input as it would treat bytes from the
// network.
#pragma once

#include <string>
#include <string_view>

namespace sluice::ipc {

struct FailureText {
  std::string plugin;
  std::string stage;
  std::string message;

  friend bool operator==(const FailureText&, const FailureText&) = default;
};

/// At most kArenaEntrySize bytes; plugin and stage are cut before the message is.
std::string encode_failure_text(const FailureText& text);

/// Of a text that drain() returned. Missing parts are empty; a text without NUL is all message.
FailureText decode_failure_text(std::string_view text);

/// `bytes` as valid UTF-8: control characters become a space (tab, line feed, carriage return) or
/// U+FFFD, and so does every byte that is not part of a character. The first `separators_max` NULs
/// stay.
std::string sanitized(std::string_view bytes, int separators_max);

/// The longest prefix of `text` of at most `size_max` bytes that does not end inside a character.
std::string_view cut_at_character(std::string_view text, std::size_t size_max);

}  // namespace sluice::ipc
