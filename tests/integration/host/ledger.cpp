#include "integration/host/ledger.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fstream>

namespace sluice::test {

std::vector<LedgerLine> read_ledger(const std::filesystem::path& file) {
  std::vector<LedgerLine> lines;
  std::ifstream in{file};
  for (std::string text; std::getline(in, text);) {
    if (in.eof()) break;
    boost::system::error_code error;
    const auto value = boost::json::parse(text, error);
    if (error) FAIL("a ledger line does not parse: " << text);
    const auto& object = value.as_object();
    LedgerLine& line = lines.emplace_back();
    line.topic = object.at("topic").as_string();
    line.partition = static_cast<std::int32_t>(object.at("partition").as_int64());
    line.offset = object.at("offset").as_int64();
    line.pid = object.at("pid").as_int64();
    line.slice = static_cast<std::uint64_t>(object.at("slice").as_int64());
    line.slice_start = object.at("start").as_int64();
    line.slice_end = object.at("end").as_int64();
  }
  return lines;
}

Deliveries count_deliveries(const std::vector<LedgerLine>& lines) {
  Deliveries count;
  for (const auto& line : lines) ++count[{line.partition, line.offset}];
  return count;
}

std::vector<std::int64_t> delivered_again(const std::vector<LedgerLine>& lines,
                                          std::int32_t partition) {
  std::vector<std::int64_t> offsets;
  for (const auto& [where, times] : count_deliveries(lines)) {
    if (where.first == partition && times > 1) offsets.push_back(where.second);
  }
  return offsets;
}

}  // namespace sluice::test
