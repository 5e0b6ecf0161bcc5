// What a partition knows about the log that it is read from: whether it is still the one of which
// the records below the frontier came (slicer.md F5). The rules are in beyond_end.cpp.
//
// Internal to host/slicer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "host/base/clock.hpp"
#include "host/slicer/fingerprint.hpp"

namespace sluice::slicer {

/// The large fields come first, as in Partition.
struct Lineage {
  Fingerprints fingerprints;
  std::int64_t lowered_from = 0;            ///< PartitionRow::lowered_from
  std::int64_t confirmed_end = -1;          ///< the host's last own look
  std::int64_t lowest_end = -1;             ///< seen since the last comparison; -1: none was lower
  std::int64_t highest_end = -1;            ///< known before that
  std::optional<Milliseconds> short_since;  ///< since when the log has ended below a known end

  // What was settled before a look of the host that found the log whole came from that log as it
  // was then. What was settled later may have been read across a cut, old records and new ones in
  // one slice, and proves nothing.
  std::int64_t vouched = -1;  ///< the frontier at that look
  std::int64_t asked = -1;    ///< ... when the look that is under way was asked for

  bool reset = false;  ///< its next row begins anew: PartitionRow::reset

  // The topic, or this partition of it, is not there.
  bool absent = false;
  bool seen_absent = false;  ///< ... was not, since the last comparison

  // The log ends below where it ended before, or below what was promised of it.
  bool believed = false;
  bool cut_seen = false;  ///< it ended lower than before; fingerprints are vouched ones

  // Comparing: nothing of the partition is published before it is over.
  bool due = false;
  bool in_flight = false;
  bool mismatched = false;  ///< a record that may have been cut off is another one now
  std::uint8_t next = 0;    ///< index of the fingerprint whose turn it is

  bool begins_anew = false;  ///< recreated: once nothing is in flight, at the low watermark
  bool low_is_old = false;   ///< ... the one that is on its way may be the old log's
  bool unproved = false;     ///< nothing to compare: recreation cannot be excluded
};

/// PartitionRow::fingerprints: those that are known, behind `?VOUCHED` while it is known that the
/// log was cut off and not where: a host that comes back must not take what was settled since for
/// proof. A `~` before all: it was not there, and nothing has been compared since.
std::string stored_text(const Lineage& lineage);
/// Leaves alone what the text says nothing about.
void restore(Lineage& lineage, std::string_view text);

}  // namespace sluice::slicer
