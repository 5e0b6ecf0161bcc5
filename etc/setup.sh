#!/usr/bin/env bash
# Installs the Debian packages that Sluice is built with, and nothing that is there already.
#
#   etc/setup.sh demo     what the host, the workers and the plugins need (default)
#   etc/setup.sh test     the same, and what the tests need: Catch2, Java and Maven for real Kafka
#
# Needs Debian 12 and root (or sudo). Removes no package, ever: Boost 1.81 is not Debian 12's
# default and its headers conflict with those of 1.74, so where libboost1.74-dev is installed this
# stops and says so. A second run only asks dpkg and takes well under a second.
set -euo pipefail

# "a|b": either is enough, a is installed if neither is there.
demo_packages=(
  g++ cmake ninja-build pkg-config
  librdkafka-dev
  libboost1.81-dev libboost-program-options1.81-dev libboost-json1.81-dev
  libtomlplusplus-dev libspdlog-dev libsqlite3-dev libssl-dev
)
test_packages=(
  catch2 libbenchmark-dev python3
  "default-jre-headless|openjdk-17-jre-headless" maven
)

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

is_installed() {
  local status
  status=$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) && [[ $status == installed ]]
}

any_is_installed() {
  local package
  for package in ${1//|/ }; do
    if is_installed "$package"; then return 0; fi
  done
  return 1
}

as_root() {
  "${become_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

apt_install() {
  as_root apt-get install -y -qq --no-install-recommends --no-remove -o Dpkg::Use-Pty=0 \
    "$@" "${missing[@]}"
}

check_system() {
  # shellcheck source=/dev/null
  (. /etc/os-release && [[ ${ID:-} == debian && ${VERSION_ID:-} == 12 ]]) 2>/dev/null ||
    fail "this is not Debian 12 (bookworm); install these by other means, then run etc/build.sh:" \
      "${missing[*]} (etc/README.md has the versions)"
  command -v apt-get >/dev/null || fail "no apt-get here: install ${missing[*]} by other means"
  if is_installed libboost1.74-dev; then
    fail "libboost1.74-dev is installed, and its headers conflict with libboost1.81-dev, which" \
      "Sluice needs; this script removes nothing: run 'apt-get remove libboost1.74-dev', then" \
      "this again"
  fi
  if [[ $EUID -eq 0 ]]; then
    become_root=()
  elif command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    become_root=(sudo)
  else
    fail "only root can install what is missing, and sudo is not there or would ask for a" \
      "password: run 'apt-get install ${missing[*]}' as root, then this again"
  fi
}

level=${1:-demo}
case $level in
  demo) packages=("${demo_packages[@]}") ;;
  test) packages=("${demo_packages[@]}" "${test_packages[@]}") ;;
  *) fail "unknown level '$level': demo or test" ;;
esac

missing=()
for package in "${packages[@]}"; do
  any_is_installed "$package" || missing+=("${package%%|*}")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  printf 'setup: all %d packages of level %s are installed\n' "${#packages[@]}" "$level"
  exit 0
fi

check_system
printf 'setup: installing %s\n' "${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Package lists are missing on fresh images and stale on old ones: fetched if apt cannot go on.
if ! apt_install --simulate >/dev/null 2>&1 || ! apt_install >"$log" 2>&1; then
  printf 'setup: apt cannot install that with the package lists it has; fetching new ones\n'
  as_root apt-get update -qq ||
    printf 'setup: apt-get update complained (see above); going on with what it got\n' >&2
  apt_install >"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    fail "apt-get could not install: ${missing[*]}. If its lines above speak of resolving or" \
      "connecting, there is no network or no mirror; if they speak of removing packages," \
      "something installed is in the way: this script removes none, remove it yourself"
  }
fi
printf 'setup: done\n'
