// A stand-in for sluice-worker: does the one thing that its start parameters say, and tells on
// stdout what it sees.
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "ipc/segment.hpp"
#include "ipc/worker_channel.hpp"

namespace {

using namespace sluice;

void say(const std::string& line) {
  std::cout << line << std::endl;
}

int show_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  std::vector<int> found;
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(folder)) found.push_back(fd);
  }
  ::closedir(folder);
  std::sort(found.begin(), found.end());
  std::string line;
  for (const int fd : found) line += std::to_string(fd) + " ";
  say(line);
  return 0;
}

int show_signals() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigBlk", 0) == 0 || line.rfind("SigIgn", 0) == 0) say(line);
  }
  say(::getpgrp() == ::getpid() ? "own group" : "foreign group");
  return 0;
}

int wait_for_ever() {
  say("ready");
  for (;;) ::pause();
}

int spin_for_ever() {
  say("ready");
  for (volatile unsigned turns = 0;;) turns = turns + 1;
}

/// Whether the main thread waits in the kernel: on busy cores it may still be on its way there.
bool main_thread_sleeps() {
  std::ifstream in{"/proc/self/task/" + std::to_string(::getpid()) + "/stat"};
  std::string text;
  std::getline(in, text);
  const auto after_name = text.rfind(')');
  return after_name != std::string::npos && text.substr(after_name + 2, 1) == "S";
}

/// Another thread burns 50 ms of CPU while this one waits.
int burn_aside() {
  say("ready");
  std::thread{[] {
    timespec burnt{};
    while (burnt.tv_sec == 0 && burnt.tv_nsec < 50'000'000) {
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &burnt);
    }
    while (!main_thread_sleeps()) std::this_thread::yield();
    say("burnt");
  }}.detach();
  for (;;) ::pause();
}

int grow(std::size_t bytes) {
  std::vector<char> memory(bytes);
  for (std::size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  volatile const char* kept = memory.data();
  return kept[0] == 1 ? wait_for_ever() : 1;
}

int wait_for_host_death() {
  say("ready");
  char byte;
  return ::read(ipc::kHostAlivePipeFd, &byte, 1) == 0 ? 0 : 1;
}

int write_log() {
  const std::string line = "one line\n";
  return ::write(ipc::kLogPipeFd, line.data(), line.size()) == 9 ? 0 : 1;
}

// Fills the log pipe: a worker must get EAGAIN, not block.
int flood_log() {
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) {
    if (::write(ipc::kLogPipeFd, line.data(), line.size()) < 0) return errno == EAGAIN ? 0 : 1;
  }
  return 2;
}

int report_ready() {
  auto channel = ipc::WorkerChannel::attach(ipc::inherited_worker_fds(), 77);
  if (!channel) {
    std::cerr << channel.error() << std::endl;
    return 78;
  }
  if (channel->host_pid() != static_cast<std::uint32_t>(::getppid())) return 1;
  ipc::Report report;
  report.kind = static_cast<std::uint16_t>(ipc::ReportKind::Ready);
  return channel->report(report) ? 0 : 1;
}

int die_of(int signal) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);  // sanitizers have handlers of their own
  ::raise(signal);
  return 1;
}

}  // namespace

int main(int, char** arguments) {
  const auto parameters = ipc::read_start_parameters(ipc::kStartParametersFd);
  if (!parameters) return 78;
  const std::string what = *parameters;
  if (what == "descriptors") return show_descriptors();
  if (what == "signals") return show_signals();
  if (what == "title") return say(arguments[0]), 0;
  if (what == "wait") return wait_for_ever();
  if (what == "spin") return spin_for_ever();
  if (what == "burn aside") return burn_aside();
  if (what == "grow") return grow(64U << 20U);
  if (what == "host death") return wait_for_host_death();
  if (what == "log") return write_log();
  if (what == "flood") return flood_log();
  if (what == "report") return report_ready();
  if (what == "exit 75") return 75;
  if (what == "segfault") return die_of(SIGSEGV);
  return 2;
}
