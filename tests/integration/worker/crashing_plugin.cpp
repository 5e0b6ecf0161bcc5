// Dies while it is being loaded. By SIGABRT, because AddressSanitizer turns a SIGSEGV into an exit
// code of its own.
#include <csignal>

namespace {
struct Crash {
  Crash() { std::raise(SIGABRT); }
} crash;
}  // namespace
