// `sluice job COMMAND`: a table of commands; each asks the host once and shows its answer.
#include <array>
#include <boost/json.hpp>
#include <iostream>

#include "host/base/nearest_name.hpp"
#include "host/cli/command.hpp"
#include "host/cli/host_client.hpp"
#include "host/cli/job_options.hpp"
#include "host/cli/job_views.hpp"

namespace sluice::cli {
namespace json = boost::json;
namespace po = boost::program_options;

namespace {

using View = void (*)(std::ostream&, Look, const json::value&);

void no_options(po::options_description&) {}

/// 503 is the host's "try again"; every other refusal is a no.
int refused(const HostReply& reply) {
  boost::system::error_code error;
  const auto body = json::parse(reply.body, error);
  std::string text = "the host answered " + std::to_string(reply.status);
  if (!error && body.is_object() && body.as_object().contains("message")) {
    const auto& said = body.as_object().at("message");
    if (const auto* string = said.if_string()) text.assign(string->data(), string->size());
  }
  std::cerr << "sluice: error: " << text << '\n';
  return reply.status == 503 ? kExitTryAgain : kExitFailed;
}

/// Asks, and shows a good answer; `answer` gets it for what else a command makes of it.
int ask_and_show(const JobCall& call, const std::string& method, const std::string& target,
                 const std::string& body, View view, json::value* answer = nullptr) {
  const auto reply = HostClient{call.socket}.ask(method, target, body);
  if (!reply) {
    std::cerr << "sluice: error: " << reply.error().message() << '\n';
    return kExitTryAgain;
  }
  if (reply->status >= 300) return refused(*reply);
  boost::system::error_code error;
  auto document = json::parse(reply->body.empty() ? "{}" : reply->body, error);
  if (error) {
    return fail_with({ErrorCode::Internal, "the host's answer is no JSON: " + error.message()});
  }
  if (call.json) {
    std::cout << json::serialize(document) << '\n';
  } else {
    view(std::cout, look_of_stdout(), document);
  }
  if (answer != nullptr) *answer = std::move(document);
  return kExitOk;
}

/// `?key=value&...` of the options that were given; Boost.Program_options knows them as text.
std::string query_of(const JobCall& call, std::initializer_list<const char*> options) {
  std::string query;
  for (const char* const option : options) {
    if (!call.has(option)) continue;
    query += query.empty() ? '?' : '&';
    query += std::string{option} + '=' + percent_encoded(call.text(option));
  }
  return query;
}

int list(const JobCall& call) {
  return ask_and_show(call, "GET", "/sluice/v1/jobs", {}, show_jobs);
}

int show(const JobCall& call) {
  return ask_and_show(call, "GET", call.target(), {}, show_job);
}

void page_options(po::options_description& options) {
  options.add_options()                                                            //
      ("topic", po::value<std::string>(), "of this topic only")                    //
      ("partition", po::value<std::string>(), "of this partition only")            //
      ("execution", po::value<std::string>(), "of this execution only")            //
      ("before", po::value<std::string>(), "the next page, as the last one says")  //
      ("limit", po::value<std::string>(), "rows, 1 to 1000 (default 100)");
}

void slice_options(po::options_description& options) {
  options.add_options()("state", po::value<std::string>(),
                        "ready|dispatched|completed|retrying|isolating|parked|dead_lettered|"
                        "skipped");
  page_options(options);
}

int slices(const JobCall& call) {
  const auto query =
      query_of(call, {"state", "topic", "partition", "execution", "before", "limit"});
  return ask_and_show(call, "GET", call.target("/slices") + query, {}, show_slices);
}

int gaps(const JobCall& call) {
  const auto query = query_of(call, {"topic", "partition", "execution", "before", "limit"});
  return ask_and_show(call, "GET", call.target("/gaps") + query, {}, show_gaps);
}

/// Exit code 1 where the proof fails, so that scripts need not read it.
int audit(const JobCall& call) {
  json::value answer;
  const int exit = ask_and_show(call, "GET", call.target("/audit"), {}, show_audit, &answer);
  if (exit != kExitOk) return exit;
  const auto* object = answer.if_object();
  const auto* holds = object != nullptr ? object->if_contains("holds") : nullptr;
  return holds != nullptr && *holds == json::value(true) ? kExitOk : kExitFailed;
}

void offset_options(po::options_description& options) {
  options.add_options()("from", po::value<std::string>(),
                        "reset: a stopped job's next start begins at frontier|group|earliest|"
                        "latest|TIME");
}

int offsets(const JobCall& call) {
  if (call.has("from")) {
    const auto body = json::serialize(json::object{{"from", call.text("from")}});
    return ask_and_show(call, "POST", call.target("/offsets"), body, show_reset);
  }
  return ask_and_show(call, "GET", call.target("/offsets"), {}, show_offsets);
}

void worker_options(po::options_description& options) {
  options.add_options()("tasks-max", po::value<std::int64_t>(),
                        "add or remove workers while the job runs, until its next start");
}

int workers(const JobCall& call) {
  if (call.has("tasks-max")) {
    const auto body =
        json::serialize(json::object{{"tasks_max", call.values["tasks-max"].as<std::int64_t>()}});
    return ask_and_show(call, "PUT", call.target("/workers"), body, show_workers);
  }
  return ask_and_show(call, "GET", call.target("/workers"), {}, show_workers);
}

int steer(const JobCall& call) {
  const auto target = call.target("/" + std::string{call.command->name});
  return ask_and_show(call, "POST", target, {}, show_state);
}

void recover_options(po::options_description& options) {
  options.add_options()                                                          //
      ("execution", po::value<std::int64_t>(), "only what this execution left")  //
      ("slices", po::value<std::string>()->default_value("parked"),
       "parked|pending|all; pending: left unfinished when a reset passed them")  //
      ("dry-run", "tell which slices it would be, and end")                      //
      ("accept-reorder",
       "recovered records come late, also where a sink may mind; nothing asks for it yet");
}

int recover(const JobCall& call) {
  json::object body{{"slices", call.text("slices")}, {"dry_run", call.has("dry-run")}};
  if (call.has("execution")) body["execution"] = call.values["execution"].as<std::int64_t>();
  if (call.has("accept-reorder")) body["accept_reorder"] = true;
  return ask_and_show(call, "POST", call.target("/recover"), json::serialize(body), show_recovery);
}

using Needs = JobCommand::Needs;
constexpr std::array kCommands{
    JobCommand{"list", "The jobs of the host, one line each.", "list", Needs::NoJob, no_options,
               list},
    JobCommand{"show", "One job: state, partitions, workers, and what it waits for.",
               "show orders-archive", Needs::Job, no_options, show},
    JobCommand{"slices", "Slice records, newest first: what became of which offsets.",
               "slices orders-archive --state parked", Needs::Job, slice_options, slices},
    JobCommand{"gaps", "The gap ledger: every range that was not processed, and why.",
               "gaps orders-archive --topic orders", Needs::Job, page_options, gaps},
    JobCommand{"audit", "Proves that every offset is settled exactly once; exits 1 if not.",
               "audit orders-archive", Needs::Job, no_options, audit},
    JobCommand{"offsets", "Where each partition started, stands and ends; --from resets.",
               "offsets orders-archive", Needs::Job, offset_options, offsets},
    JobCommand{"workers", "The job's worker processes; --tasks-max changes how many.",
               "workers orders-archive", Needs::Job, worker_options, workers},
    JobCommand{"recover", "Runs parked slices again, in the running job.",
               "recover orders-archive --dry-run", Needs::Job, recover_options, recover},
    JobCommand{"restart", "Halted partitions go on; a job that has ended starts again.",
               "restart orders-archive", Needs::Job, no_options, steer},
    JobCommand{"pause", "Publishes nothing more; workers stay, lag grows.", "pause orders-archive",
               Needs::Job, no_options, steer},
    JobCommand{"resume", "A paused or stopped job goes on at its frontier.",
               "resume orders-archive", Needs::Job, no_options, steer},
    JobCommand{"stop", "Drains the job; it stays known.", "stop orders-archive", Needs::Job,
               no_options, steer},
};

void print_commands(std::ostream& out) {
  out << "Usage: sluice job COMMAND [JOB] [OPTIONS]\n\nAsks a running host, over its control "
         "socket.\n\nCommands:\n";
  for (const auto& command : kCommands) {
    out << "  " << command.name << std::string(10 - command.name.size(), ' ') << command.summary
        << '\n';
  }
  out << "\n`sluice job COMMAND --help` shows a command's options and an example.\n"
         "Exit codes: 0 ok, 1 no (unknown job, a rule says no, the audit does not hold), 2 usage,\n"
         "75 no host answers, or it is too busy.\n";
}

int unknown_command(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& command : kCommands) names.push_back(command.name);
  std::cerr << "sluice: error: job " << name << ": no such command";
  if (const auto nearest = nearest_name(name, names); !nearest.empty()) {
    std::cerr << "; did you mean `sluice job " << nearest << "`?";
  }
  std::cerr << "\n`sluice job --help` lists the commands.\n";
  return kExitUsage;
}

}  // namespace

int run_job_command(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    print_commands(std::cerr);
    return kExitUsage;
  }
  const auto& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_commands(std::cout);
    return kExitOk;
  }
  for (const auto& command : kCommands) {
    if (command.name != name) continue;
    const auto parsed = parse_job_call(command, {arguments.begin() + 1, arguments.end()});
    return parsed.go_on ? command.run(parsed.call) : parsed.exit;
  }
  return unknown_command(name);
}

}  // namespace sluice::cli
