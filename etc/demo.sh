#!/usr/bin/env bash
# From a fresh clone to a job that survives a killed worker: packages (by apt, needs root or sudo),
# a build of only what the demo needs, then `sluice demo` with the arguments given here.
# No Kafka, no Java: the demo brings an embedded broker.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "== Packages"
etc/setup.sh demo
echo "== Build (the first one takes minutes)"
etc/build.sh release sluice sluice-worker sluice_plugins
echo "== Demo"
exec build/release/bin/sluice demo "$@"
