// The main() of every test binary, and the defaults of the sanitizers: compiled in, so that a
// binary started by hand or under a debugger behaves as under ctest. The environment still wins.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

extern "C" {
const char* __asan_default_options();
const char* __ubsan_default_options();
const char* __tsan_default_options();

const char* __asan_default_options() {
  return "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:"
         "check_initialization_order=1";
}
const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}
const char* __tsan_default_options() {
  return "second_deadlock_stack=1:halt_on_error=1";
}
}
