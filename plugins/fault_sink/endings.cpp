#include "fault_sink/endings.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace sluice::fault {

void crash() {
  volatile std::uintptr_t nowhere = 16;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

int overflow_stack(int depth) {
  constexpr int kDeeperThanAnyStack = 1 << 30;
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth > kDeeperThanAnyStack ? 0 : overflow_stack(depth + 1) + frame[0];
}

void die() {
  ::kill(::getpid(), SIGKILL);
  sleep_for_ever();
}

void stop_process() {
  ::kill(::getpid(), SIGSTOP);
  sleep_for_ever();
}

void spin() {
  for (;;) {
    asm volatile("");  // a loop that does nothing may not be left out
  }
}

void sleep_for_ever() {
  for (;;) {
    ::pause();
  }
}

void block() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw std::system_error{errno, std::generic_category(), "pipe"};
  }
  for (;;) {
    char never = 0;
    [[maybe_unused]] const ssize_t got = ::read(ends[0], &never, 1);
  }
}

void deadlock() {
  std::mutex first;
  std::mutex second;
  std::latch both_have_one{2};
  std::thread other{[&] {
    const std::lock_guard mine{second};
    both_have_one.arrive_and_wait();
    const std::lock_guard wanted{first};
  }};
  const std::lock_guard mine{first};
  both_have_one.arrive_and_wait();
  const std::lock_guard wanted{second};
  sleep_for_ever();
}

void wait_beside(const std::function<void()>& beat) {
  std::thread beating{[beat] {
    for (;;) {
      beat();
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
  }};
  beating.join();
  sleep_for_ever();
}

void take_memory(std::uint64_t bytes_max) {
  constexpr std::size_t kStepBytes = 16 << 20;
  std::vector<std::unique_ptr<char[]>> taken;
  for (std::uint64_t bytes = 0; bytes < bytes_max; bytes += kStepBytes) {
    std::memset(taken.emplace_back(new char[kStepBytes]).get(), 1, kStepBytes);
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  throw std::bad_alloc{};
}

}  // namespace sluice::fault
