// What all jobs of one host share: the loop and the threads where blocking calls go, the Kafka
// client, the state store, and what a worker process inherits. Plain references; the Host owns them
// and outlives its jobs. Loop thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "host/base/clock.hpp"
#include "host/job/event_loop.hpp"
#include "host/job/serial_thread.hpp"
#include "host/kafka/admin.hpp"
#include "host/log/logger.hpp"
#include "host/state/state_thread.hpp"

namespace sluice::job {

struct HostServices {
  EventLoop& loop;
  SerialThread& kafka_thread;
  state::StateThread& state;
  const Clock& clock;
  log::Logger log;
  kafka::HostClient& read_committed;
  kafka::HostClient& read_uncommitted;
  kafka::Properties kafka;  ///< [kafka] of the host's configuration, for the workers' clients
  std::filesystem::path worker_executable;
  int worker_executable_fd = -1;  ///< the host's: an upgrade of the package changes no running job
  std::string store_id;
  std::uint64_t incarnation = 0;  ///< of this host: how often the store was opened
  std::uint32_t slices_per_second_max = 20'000;
  int host_alive = -1;  ///< read end, inherited by workers
  int state_lock = -1;  ///< the state directory's lock, inherited by workers (S8)
};

}  // namespace sluice::job
