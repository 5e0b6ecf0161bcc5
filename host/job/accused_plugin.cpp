#include "host/job/accused_plugin.hpp"

#include "host/base/assert.hpp"

namespace sluice::job {

std::string accused_plugin(const slicer::Accusation& accusation,
                           const std::vector<worker::PluginInstance>& plugins) {
  SLUICE_ASSERT(!plugins.empty());
  const std::size_t place = accusation.plugin_place;
  const std::size_t processors = plugins.size() - 1;
  switch (accusation.phase) {
    case ipc::Phase::Put:
      return plugins.back().alias;
    case ipc::Phase::Process:
      if (processors == 1) return plugins.front().alias;
      return place >= 1 && place <= processors ? plugins[place - 1].alias : std::string{};
    case ipc::Phase::Flush:
    case ipc::Phase::State:
      if (processors == 0) return plugins.back().alias;
      return place >= 1 && place <= plugins.size() ? plugins[place - 1].alias : std::string{};
    default:
      return {};
  }
}

}  // namespace sluice::job
