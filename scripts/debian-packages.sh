#!/usr/bin/env bash
# Installs the Debian packages that the build needs, as far as they are missing and this user may.
#
#   scripts/debian-packages.sh            what the build needs
#   scripts/debian-packages.sh nodegit    what compiling nodegit needs, which is optional
#   scripts/debian-packages.sh package    what making a Debian package needs; `package arm64` on another processor
#   scripts/debian-packages.sh browser    what the tests need, most of it for the web pages
set -euo pipefail

required=(python3 make g++ git libdeflate-dev)
optional=(ccache universal-ctags)
without="ccache makes a second build of the native packages fast, universal-ctags extracts symbols."
# Debian's own Node has its headers in another package; others bring them along.
if [ "$(command -v node)" = /usr/bin/node ] &&
  dpkg-query --show --showformat='${Maintainer}' nodejs 2>/dev/null | grep -q 'debian\.org'; then
  required+=(libnode-dev)
fi
if [ "${1:-}" = nodegit ]; then
  required=(libkrb5-dev libssl-dev)
  optional=()
fi
if [ "${1:-}" = package ]; then
  required=(dpkg-dev binutils xz-utils)
  if [ "${2:-}" = arm64 ]; then required+=(g++-aarch64-linux-gnu debian-archive-keyring); fi
  optional=()
fi
if [ "${1:-}" = browser ]; then
  required=()
  optional=(chromium-headless-shell fonts-dejavu-core openssh-client)
  without="the tests of the web pages in test/web are skipped, unless chromium is there, and some of git-remotes fail without ssh."
fi

if ! command -v dpkg-query >/dev/null; then
  if [ ${#required[@]} -eq 0 ]; then exit 0; fi
  echo "This is not a Debian system: make sure there are ${required[*]} (and ccache) in its own words."
  exit 0
fi

missing_of() {
  local package
  for package in "$@"; do
    if [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      echo "$package"
    fi
  done
}

mapfile -t missing < <(missing_of "${required[@]}")
mapfile -t wanted < <(missing_of "${required[@]}" "${optional[@]}")
[ ${#wanted[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo -n); fi

if [ ${#as_root[@]} -eq 0 ] || sudo -n true 2>/dev/null; then
  echo "Installing Debian packages: ${wanted[*]} (about a minute)"
  # A mirror that does not answer is otherwise asked again for minutes.
  # Another apt may be at work, such as that of a second checkout.
  quick=(-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o DPkg::Lock::Timeout=120)
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if "${as_root[@]}" apt-get update -qq "${quick[@]}" >>"$log" 2>&1 &&
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${quick[@]}" "${wanted[@]}" >>"$log" 2>&1; then
    exit 0
  fi
  error=$(grep -m1 '^[EW]: ' "$log" || tail -n 1 "$log")
  if [ ${#missing[@]} -eq 0 ]; then
    echo "apt could not install ${wanted[*]} ($error). Going on without: $without"
    exit 0
  fi
  echo "trawl: apt could not install ${missing[*]} ($error): see whether its mirror in /etc/apt answers, then run: apt-get update && apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "Debian packages are missing, and this user may not install them. Please run:"
echo "  sudo apt-get install ${wanted[*]}"
if [ ${#missing[@]} -eq 0 ]; then
  echo "Going on without: $without"
  exit 0
fi
exit 1
