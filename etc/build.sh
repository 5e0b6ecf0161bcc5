#!/usr/bin/env bash
# Configures and builds. Binaries land in build/PRESET/bin, plugins in build/PRESET/plugins.
#
#   etc/build.sh [PRESET [TARGET...]]    default: release, everything
#
# Presets: release, debug, asan, tsan (CMakePresets.json). Where the packages of `etc/setup.sh test`
# are missing, the tests are left out. An up-to-date tree takes a few seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-release}
targets=("${@:2}")

fail() {
  printf 'build: %s\n' "$*" >&2
  exit 1
}

command -v cmake >/dev/null || fail "no cmake here: run etc/setup.sh first"

# One file of the host takes the compiler up to 1.5 GB: a machine with many cores and little memory
# must not swap. MemAvailable is in KiB.
jobs=$(nproc)
available_kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
memory_jobs=$((${available_kib:-1} / 1500000))
if ((memory_jobs < jobs)); then jobs=$((memory_jobs > 0 ? memory_jobs : 1)); fi

tests=ON
for needed in /usr/include/catch2/catch.hpp /usr/include/benchmark/benchmark.h /usr/bin/python3; do
  [[ -e $needed ]] || tests=OFF
done

log=build/$preset-configure.log
mkdir -p build
if ! cmake --preset "$preset" -DSLUICE_TESTS="$tests" >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  fail "cmake could not configure (all it said: $log); run etc/setup.sh, or remove" \
    "build/$preset if it was made in another folder"
fi
exec cmake --build "build/$preset" --parallel "$jobs" ${targets[@]:+--target "${targets[@]}"}
