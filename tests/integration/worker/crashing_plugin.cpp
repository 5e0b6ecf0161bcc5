// Dies while it is being loaded. By SIGABRT: AddressSanitizer turns a SIGSEGV into its own exit code.
#include <csignal>

namespace {
struct Crash {
  Crash() { std::raise(SIGABRT); }
} crash;
}  // namespace
