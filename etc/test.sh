#!/usr/bin/env bash
# Every test, from a fresh clone on a bare Debian 12: packages, builds, tests, a real broker.
#
#   etc/test.sh [--full] [PART...]
#
# Parts, in this order (default: all; a part needs those before it that build for it):
#   packages   apt, with Java and Maven             needs root or sudo, and the network once
#   release    the build that is shipped
#   quick      unit, simulator, mock cluster, ABI, out-of-tree SDK and tidy tests on it
#   asan       AddressSanitizer and UndefinedBehaviorSanitizer: build and tests
#   tsan       ThreadSanitizer: build and tests of what threads or processes share
#   kafka      Apache Kafka's files by Maven        needs the network once
#   broker     tests on that Kafka; they start and stop it themselves, on free ports
#   bench      each benchmark once, to see that it runs; and the product beside bare librdkafka on
#              that Kafka, at half the bars (tests/bench/run.sh has the whole ones)
# --full adds the long runs (SLUICE_FULL=1), about two hours: 10^8 wild stores into what a
# worker may write (P15; 45 minutes of it under AddressSanitizer), 10^8 handoffs on one core and on
# two (P16; 10^7 under ThreadSanitizer), 10,000 simulated worlds, thousands of kills, 5,000,000
# records of real Kafka, half an hour of kills, broker restarts, expiry and poison (broker_soak).
#
# A test that did not run counts as failed. Ends 0 only if nothing failed; the last line counts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

all_parts=(packages release quick asan tsan kafka broker bench)
# Minutes on 2 cores that a part should stay below; shown beside what it took.
declare -A budget_minutes=([packages]=3 [release]=8 [quick]=12 [asan]=10 [tsan]=4 [kafka]=1
  [broker]=10 [bench]=3)
# Sanitized builds leave out what needs a broker, measures time, or looks at sources only.
sanitizers_skip='^(broker|bench|sdk|tidy)$'
tsan_targets=(unit_ipc unit_log unit_state)

parts=()
for argument in "$@"; do
  case $argument in
    --full) export SLUICE_FULL=1 ;;
    packages | release | quick | asan | tsan | kafka | broker | bench) parts+=("$argument") ;;
    *)
      printf 'test: unknown argument %s; parts: %s\n' "$argument" "${all_parts[*]}" >&2
      exit 2
      ;;
  esac
done
if [[ ${#parts[@]} -eq 0 ]]; then parts=("${all_parts[@]}"); fi

# For the processes that tests start; test binaries have the same compiled in (catch_main.cpp).
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-second_deadlock_stack=1:halt_on_error=1}

passed=0
failed=0
table=()
junit_files=()

# ctest_counted PRESET ARGUMENT...: runs ctest and adds to the counts what its JUnit file says.
ctest_counted() {
  local preset=$1 junit
  shift
  junit=$PWD/build/$preset/junit-$part.xml
  rm -f "$junit"
  # --timeout is for tests that set none; --no-tests=error: a filter that matches nothing is a bug.
  local status=0
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 300 \
    -j "$(nproc)" --output-junit "$junit" "$@" </dev/null || status=$?
  local tests=0 failures=0 skipped=0 disabled=0
  if [[ -r $junit ]]; then
    junit_files+=("$junit")
    tests=$(suite_attribute tests "$junit")
    failures=$(suite_attribute failures "$junit")
    skipped=$(suite_attribute skipped "$junit")
    disabled=$(suite_attribute disabled "$junit")
  fi
  local not_run=$((skipped + disabled))
  if ((not_run > 0)); then echo "test: $not_run tests did not run: counted as failed"; fi
  if ((status != 0 && failures + not_run == 0)); then failures=1; fi
  passed=$((passed + tests - failures - not_run))
  failed=$((failed + failures + not_run))
  ((status == 0 && not_run == 0))
}

# The first match is the <testsuite> element: its attributes stand on lines of their own.
suite_attribute() {
  local value
  value=$(sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1)
  printf '%s' "${value:-0}"
}

run_packages() { etc/setup.sh test; }
run_release() { etc/build.sh release; }
run_quick() { ctest_counted release -LE '^(broker|bench)$'; }
run_asan() { etc/build.sh asan && ctest_counted asan -LE "$sanitizers_skip"; }
run_tsan() {
  local pattern
  pattern=$(IFS='|' && echo "^(${tsan_targets[*]}):")
  etc/build.sh tsan "${tsan_targets[@]}" && ctest_counted tsan -R "$pattern"
}
run_kafka() { etc/kafka-libs.sh; }
run_broker() { ctest_counted release -L '^broker$'; }
run_bench() { ctest_counted release -L '^bench$'; }

# run_part NAME: heading, the part, its line for the table. A part that fails does not end the run,
# so that one run tells everything that is wrong; a test that did not start is then a failure too.
run_part() {
  part=$1
  echo
  echo "== $part"
  local started=$SECONDS failed_before=$failed result=ok
  if ! "run_$part"; then
    result=FAILED
    if ((failed == failed_before)); then failed=$((failed + 1)); fi
  fi
  local took=$((SECONDS - started))
  table+=("$(printf '%-10s %3d:%02d of %2d min  %s' "$part" $((took / 60)) $((took % 60)) \
    "${budget_minutes[$part]}" "$result")")
  [[ $result == ok ]]
}

for each in "${parts[@]}"; do
  if ! run_part "$each"; then
    # Without packages or a release build the rest would only repeat the same error.
    if [[ $each == packages || $each == release ]]; then break; fi
  fi
done

echo
printf '%s\n' "${table[@]}"
if ((failed > 0)); then etc/failed_tests.py "${junit_files[@]}"; fi
echo "$passed passed, $failed failed"
((failed == 0))
