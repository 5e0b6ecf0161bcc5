#include "host/job/job_plan.hpp"

#include <algorithm>
#include <utility>

namespace sluice::job {
namespace {

catalog::PluginKind kind_of(const config::PluginConfig& plugin) {
  return plugin.kind == config::PluginConfig::Kind::Sink ? catalog::PluginKind::Sink
                                                         : catalog::PluginKind::Processor;
}

// The key under which the job names the plugin.
std::string type_key(const config::PluginConfig& plugin) {
  return plugin.kind == config::PluginConfig::Kind::Sink ? "connector.class"
                                                         : plugin.prefix + "type";
}

// What the plugin is called in logs and problems.
std::string alias_of(const config::JobConfig& job, const config::PluginConfig& plugin) {
  return plugin.name.empty() ? job.name : plugin.name;
}

bool has_stable_slices(const catalog::DescribedPlugin& sink) {
  const auto& all = sink.capabilities;
  return std::find(all.begin(), all.end(), "stable-slices") != all.end();
}

struct Search {
  std::vector<const config::PluginConfig*> plugins;  // in the order of the chain
  std::vector<catalog::FoundPlugin> found;
  std::vector<catalog::PluginToCheck> to_check;
  config::Problems problems;
};

void look_for(const config::PluginConfig& plugin, catalog::PluginCatalog& catalog, Search& search) {
  auto found = catalog.find(kind_of(plugin), plugin.type, plugin.version);
  if (!found) {
    search.problems.add(plugin.type_position, type_key(plugin), found.error().message());
    return;
  }
  catalog::PluginToCheck check;
  check.kind = kind_of(plugin);
  check.type = plugin.type;
  check.alias = std::to_string(search.to_check.size());  // a transform may be called like its job
  check.file = found->file.path;
  for (const auto& [key, value] : plugin.keys) check.config[key] = value.value;
  search.plugins.push_back(&plugin);
  search.to_check.push_back(std::move(check));
  search.found.push_back(*std::move(found));
}

void add_problem(const catalog::PluginProblem& problem, Search& search) {
  for (std::size_t i = 0; i < search.plugins.size(); ++i) {
    if (search.to_check[i].alias != problem.alias) continue;
    const auto& plugin = *search.plugins[i];
    const auto written = plugin.keys.find(problem.key);
    const auto position =
        written == plugin.keys.end() ? plugin.type_position : written->second.position;
    const auto key = problem.key.empty() ? type_key(plugin) : plugin.prefix + problem.key;
    return search.problems.add(position, key, problem.message);
  }
  search.problems.add({}, problem.key, problem.message);
}

Result<std::vector<worker::PluginInstance>> pin_all(const config::JobConfig& job,
                                                    const Search& search,
                                                    catalog::PluginCatalog& catalog) {
  std::vector<worker::PluginInstance> pinned;
  for (std::size_t i = 0; i < search.found.size(); ++i) {
    auto path = catalog.pin(search.found[i].file);
    if (!path) return path.error();
    worker::PluginInstance instance;
    instance.kind = search.to_check[i].kind == catalog::PluginKind::Sink
                        ? worker::PluginKind::Sink
                        : worker::PluginKind::Processor;
    instance.type = search.to_check[i].type;
    instance.alias = alias_of(job, *search.plugins[i]);
    instance.file = path->string();
    instance.sha256 = search.found[i].file.sha256;
    instance.config = search.to_check[i].config;
    pinned.push_back(std::move(instance));
  }
  return pinned;
}

}  // namespace

Result<JobPlan> plan_job(config::JobConfig job, catalog::PluginCatalog& catalog) {
  Search search;
  search.problems = config::Problems{job.origin};
  for (const auto& processor : job.processors) look_for(processor, catalog, search);
  look_for(job.sink, catalog, search);
  if (search.problems.empty()) {
    const auto problems = catalog.validate(search.to_check);
    if (!problems) return problems.error();
    for (const auto& problem : *problems) add_problem(problem, search);
  }
  if (!search.problems.empty()) {
    search.problems.sort();
    return search.problems.to_error();
  }
  auto pinned = pin_all(job, search, catalog);
  if (!pinned) return pinned.error();
  return JobPlan{std::move(job), *std::move(pinned), std::nullopt,
                 has_stable_slices(search.found.back().plugin)};
}

}  // namespace sluice::job
