// The host's answers as people read them: JSON in, tables out. Pure but for the stream.
// What a document lacks is shown as `-`: an older host may not know it yet.
// Not here: --json, which prints the document as it came.
#pragma once

#include <boost/json/value.hpp>
#include <iosfwd>

#include "host/cli/table.hpp"

namespace sluice::cli {

void show_jobs(std::ostream& out, Look look, const boost::json::value& answer);
void show_job(std::ostream& out, Look look, const boost::json::value& answer);
void show_slices(std::ostream& out, Look look, const boost::json::value& answer);
void show_gaps(std::ostream& out, Look look, const boost::json::value& answer);
void show_state(std::ostream& out, Look look, const boost::json::value& answer);
void show_recovery(std::ostream& out, Look look, const boost::json::value& answer);
void show_reset(std::ostream& out, Look look, const boost::json::value& answer);
void show_audit(std::ostream& out, Look look, const boost::json::value& answer);
void show_offsets(std::ostream& out, Look look, const boost::json::value& answer);
void show_workers(std::ostream& out, Look look, const boost::json::value& answer);

}  // namespace sluice::cli
