#include "host/job/start_position.hpp"

#include <algorithm>

#include "host/config/values.hpp"

namespace sluice::job {
namespace {

constexpr char kMetadataPrefix[] = "sluice/1 ";

Refusal refuse(const StartQuestion& question, ErrorCode code, const std::string& why,
               const std::string& what_to_do) {
  return {code, "job " + question.job + ": cannot start " + question.partition_name + ": " + why +
                    "; " + what_to_do};
}

std::string choose_with(const StartQuestion& question, const std::string& choices) {
  return "choose with `sluice job offsets " + question.job + " --from " + choices +
         "` (or `sluice run ... --from`)";
}

std::variant<StartAt, Refusal> start_as_told(const StartQuestion& question) {
  switch (question.from->kind) {
    case StartFrom::Kind::Frontier:
      if (question.frontier) return StartAt{*question.frontier, "frontier", ""};
      return refuse(question, ErrorCode::Configuration, "the state store has no frontier for it",
                    choose_with(question, "group|earliest|latest"));
    case StartFrom::Kind::Group:
      if (question.group) return StartAt{question.group->offset, "group", ""};
      return refuse(question, ErrorCode::Configuration,
                    "group connect-" + question.job + " has no committed offset for it",
                    choose_with(question, "frontier|earliest|latest"));
    case StartFrom::Kind::Earliest:
      return StartAt{question.low, "earliest", ""};
    case StartFrom::Kind::Latest:
      return StartAt{question.end, "latest", ""};
    case StartFrom::Kind::Timestamp:
      return StartAt{question.timestamp_offset.value_or(question.end), "timestamp", ""};
  }
  return refuse(question, ErrorCode::Internal, "unknown --from", "report a bug");
}

std::variant<StartAt, Refusal> start_by_policy(const StartQuestion& question) {
  if (question.appeared == StartQuestion::Appeared::Later) {
    return StartAt{question.low, "earliest", ""};
  }
  if (question.timestamp_offset) return StartAt{*question.timestamp_offset, "timestamp", ""};
  switch (question.reset) {
    case ResetPolicy::Earliest:
      return StartAt{question.low, "earliest", ""};
    case ResetPolicy::Latest:
      return StartAt{question.end, "latest", ""};
    case ResetPolicy::None:
      break;
  }
  return refuse(question, ErrorCode::Configuration,
                "nothing is stored or committed for it and auto.offset.reset is none",
                choose_with(question, "earliest|latest"));
}

std::variant<StartAt, Refusal> start_without_frontier(const StartQuestion& question) {
  if (!question.group) return start_by_policy(question);
  const auto writer = store_id_of(question.group->metadata);
  if (!writer) return StartAt{question.group->offset, "group", ""};  // a migration
  if (*writer == question.store_id) {
    return refuse(question, ErrorCode::StoreForeign,
                  "this state store committed offset " + std::to_string(question.group->offset) +
                      " for it, but has no frontier any more",
                  choose_with(question, "group|earliest|latest"));
  }
  return refuse(question, ErrorCode::StoreForeign,
                "its offset " + std::to_string(question.group->offset) + " in group connect-" +
                    question.job + " was committed by another state store (" + *writer +
                    "; this one is " + question.store_id + ")",
                choose_with(question, "frontier|group|earliest|latest"));
}

}  // namespace

Result<StartFrom> parse_start_from(const std::string& text) {
  using Kind = StartFrom::Kind;
  if (text == "frontier") return StartFrom{Kind::Frontier, 0};
  if (text == "group") return StartFrom{Kind::Group, 0};
  if (text == "earliest") return StartFrom{Kind::Earliest, 0};
  if (text == "latest") return StartFrom{Kind::Latest, 0};
  // Kafka takes numbers below zero for words of its own.
  if (const auto ms = config::parse_timestamp_ms(text); ms && *ms >= 0) {
    return StartFrom{Kind::Timestamp, *ms};
  }
  return Error{ErrorCode::Usage, "--from: " + text +
                                     ": not a start position; use frontier, group, earliest, "
                                     "latest, milliseconds since the epoch or "
                                     "2026-01-31T12:00:00Z"};
}

std::string commit_metadata(const std::string& store_id, std::uint64_t host_incarnation) {
  return kMetadataPrefix + store_id + " " + std::to_string(host_incarnation);
}

std::optional<std::string> store_id_of(const std::string& metadata) {
  if (metadata.rfind(kMetadataPrefix, 0) != 0) return std::nullopt;
  const auto begin = sizeof kMetadataPrefix - 1;
  const auto end = metadata.find(' ', begin);
  auto id = metadata.substr(begin, end == std::string::npos ? end : end - begin);
  if (id.empty()) return std::nullopt;
  return id;
}

std::variant<StartAt, Refusal> decide_start(const StartQuestion& question) {
  if (question.from) return start_as_told(question);
  if (question.recreated) return StartAt{question.low, "recreated", ""};
  if (!question.frontier) return start_without_frontier(question);

  StartAt at{*question.frontier, "frontier", ""};
  if (!question.group) return at;
  const auto writer = store_id_of(question.group->metadata);
  const auto committed = question.group->offset;
  if (!writer) {
    if (committed != at.offset) {
      at.warning = "group connect-" + question.job + " has " + question.partition_name + " at " +
                   std::to_string(committed) +
                   ", moved by another tool; going on at the frontier " +
                   std::to_string(at.offset) + " (`--from group` adopts the group's offset)";
    }
    return at;
  }
  if (*writer != question.store_id) {
    return refuse(question, ErrorCode::StoreForeign,
                  "its offset " + std::to_string(committed) + " in group connect-" + question.job +
                      " was committed by another state store (" + *writer + "; this one is " +
                      question.store_id + ")",
                  choose_with(question, "frontier|group|earliest|latest"));
  }
  if (committed > std::max(at.offset, question.lowered_from)) {
    return refuse(question, ErrorCode::StoreForeign,
                  "this state store committed offset " + std::to_string(committed) +
                      " for it but now knows only " + std::to_string(at.offset) +
                      ": the store was restored from a backup",
                  choose_with(question, "frontier|group"));
  }
  return at;
}

}  // namespace sluice::job
