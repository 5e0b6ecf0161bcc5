#!/usr/bin/env bash
# The bars of README.md, measured on a real broker: see `tests/bench/run.sh --help`.
# Needs a release build (etc/build.sh release) and Kafka's jars (etc/kafka-libs.sh); it gets both
# if they are missing. Everything it starts ends with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

help=no
for argument in "$@"; do
  case $argument in
    -h | --help) help=yes ;;
  esac
done
if [[ $help == no ]]; then
  [[ -x build/release/bin/bench_group_watch ]] || etc/build.sh release
  [[ -f build/kafka-libs/.stamp ]] || etc/kafka-libs.sh
fi
exec python3 -B tests/bench/run.py "$@"
