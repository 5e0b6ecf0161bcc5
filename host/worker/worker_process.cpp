#include "host/worker/worker_process.hpp"

#include <unistd.h>

#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/config/placeholders.hpp"
#include "host/dead_letter/kafka_outlet.hpp"
#include "host/worker/kafka_source.hpp"
#include "host/worker/log_pipe.hpp"
#include "host/worker/process_setup.hpp"
#include "host/worker/start_parameters.hpp"
#include "host/worker/task_loop.hpp"
#include "ipc/crash_handler.hpp"
#include "ipc/worker_channel.hpp"
#include "ipc/worker_fds.hpp"

namespace sluice::worker {

namespace {

constexpr int kExitUsage = 2;

int leave(int code, const std::string& why) {
  std::fprintf(stderr, "sluice-worker: %s\n", why.c_str());
  return code;
}

PluginFailure wrong_configuration(const std::string& plugin, const char* stage,
                                  std::string message) {
  PluginFailure failure;
  failure.status = SLUICE_CONFIG;
  failure.failure_class = ipc::FailureClass::Configuration;
  failure.text = {plugin, stage, std::move(message)};
  return failure;
}

/// The files of a chain, each loaded once.
class LoadedFiles {
 public:
  Result<const PluginModule*> load(const PluginInstance& instance) {
    for (const auto& [file, module] : modules_) {
      if (file == instance.file) return &module;
    }
    auto module = load_pinned_module(instance.file, instance.sha256);
    if (!module) return module.error();
    modules_.emplace_back(instance.file, std::move(*module));
    return &modules_.back().second;
  }

 private:
  std::deque<std::pair<std::string, PluginModule>> modules_;
};

ResolveText resolver() {
  return [environment = config::Environment::of_process()](
             std::string_view text) -> Result<std::optional<std::string>> {
    auto resolved = config::resolve_placeholders(text, environment);
    if (!resolved) return resolved.error();
    return std::optional<std::string>{std::move(*resolved)};
  };
}

std::string all_problems(const std::vector<KeyProblem>& problems) {
  std::string text;
  for (const KeyProblem& problem : problems) {
    if (!text.empty()) text += "; ";
    text += problem.key + ": " + problem.message;
  }
  return text;
}

/// What the worker is made of; or a failure that no restart can mend.
class Parts {
 public:
  explicit Parts(const StartParameters& parameters) : parameters_{parameters} {}

  std::optional<PluginFailure> load_plugins() {
    for (const PluginInstance& instance : parameters_.plugins) {
      if (auto failure = load_plugin(instance)) return failure;
    }
    return std::nullopt;
  }
  std::optional<PluginFailure> connect() {
    Properties properties;
    if (auto failure = resolve(parameters_.consumer, properties)) return failure;
    auto source = KafkaSource::create(properties, "connect-" + parameters_.job);
    if (!source) return wrong_configuration("", "kafka", source.error().message());
    source_ = std::move(*source);
    return resolve_outlet();
  }
  std::vector<ChainLink> take_links() { return std::move(links_); }
  KafkaSource& source() { return *source_; }
  /// Makes its client with the first dead letter.
  dead_letter::OpenOutlet take_outlet() { return std::move(outlet_); }

 private:
  std::optional<PluginFailure> resolve(const Properties& texts, Properties& properties) const {
    for (const auto& [name, text] : texts) {
      auto value = resolve_(text);
      if (!value) return wrong_configuration("", "kafka", name + ": " + value.error().message());
      properties.emplace_back(name, std::move(**value));
    }
    return std::nullopt;
  }

  std::optional<PluginFailure> resolve_outlet() {
    if (!parameters_.dead_letters) return std::nullopt;
    Properties properties;
    if (auto failure = resolve(parameters_.producer, properties)) return failure;
    outlet_ = [properties = std::move(properties), topic = parameters_.dead_letters->topic] {
      return dead_letter::open_kafka_outlet(properties, topic);
    };
    return std::nullopt;
  }

  std::optional<PluginFailure> load_plugin(const PluginInstance& instance) {
    const auto module = files_.load(instance);
    if (!module) return wrong_configuration(instance.alias, "load", module.error().message());
    const auto kind = instance.kind == PluginKind::Sink ? SLUICE_KIND_SINK : SLUICE_KIND_PROCESSOR;
    const auto choice = find_plugin(**module, instance.type, kind, instance.file);
    if (!choice) return wrong_configuration(instance.alias, "load", choice.error().message());
    CheckedSettings checked = PluginSettings::check(*choice, instance.config, resolve_);
    if (!checked.problems.empty()) {
      return wrong_configuration(instance.alias, "configure", all_problems(checked.problems));
    }
    links_.push_back({*choice, std::move(checked.settings), instance.alias});
    return std::nullopt;
  }

  const StartParameters& parameters_;
  ResolveText resolve_ = resolver();
  LoadedFiles files_;
  std::vector<ChainLink> links_;
  std::unique_ptr<KafkaSource> source_;
  dead_letter::OpenOutlet outlet_;
};

int run(const StartParameters& parameters, ipc::WorkerChannel& channel) {
  channel.pulse().enter(ipc::Phase::Start);
  channel.pulse().beat();
  Parts parts{parameters};
  std::optional<PluginFailure> failure = parts.load_plugins();
  if (!failure) failure = parts.connect();
  if (failure) {
    Outbox{channel}.chain_failed(*failure);
    return leave(kExitConfiguration, failure->text.message);
  }
  ipc::record_modules(channel);
  LogPipe log{ipc::kLogPipeFd};
  PollTime time{channel.doorbell_fd(), parts.source()};
  TaskLoop loop{parameters,
                parts.take_links(),
                channel,
                parts.source(),
                log,
                time,
                Random{Random::system_seed()},
                parts.take_outlet()};
  const int code = loop.run();
  // Plugins that were not taken down may have threads: no destructor may run beside them.
  if (code != kExitDone) ::_exit(code);
  return code;
}

}  // namespace

int run_worker_process() {
  die_with_parent();
  if (const auto inherited = check_inherited_fds(); !inherited) {
    return leave(kExitUsage, inherited.error().message());
  }
  take_name();
  const auto bytes = ipc::read_start_parameters(ipc::kStartParametersFd);
  if (!bytes) return leave(kExitConfiguration, bytes.error().message());
  const auto parameters = decode(*bytes);
  if (!parameters) return leave(kExitConfiguration, parameters.error().message());
  ::close(ipc::kStartParametersFd);
  auto channel = ipc::WorkerChannel::attach(ipc::inherited_worker_fds(), parameters->incarnation);
  if (!channel) return leave(kExitConfiguration, channel.error().message());
  // The host may have died before die_with_parent() took hold.
  if (static_cast<std::uint32_t>(::getppid()) != channel->host_pid()) {
    return leave(kExitTryAgain, "the host is gone");
  }
  confine_process(parameters->core_files);
  if (const auto watched = watch_host(ipc::kHostAlivePipeFd); !watched) {
    return leave(kExitInternal, watched.error().message());
  }
  if (const auto installed = ipc::install_crash_handler(*channel); !installed) {
    return leave(kExitInternal, installed.error().message());
  }
  return run(*parameters, *channel);
}

}  // namespace sluice::worker
