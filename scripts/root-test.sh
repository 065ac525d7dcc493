#!/usr/bin/env bash
# From nothing to a search, and the whole suite, in a clean Debian root with a release of Node of node-packages.json. Needs root, debootstrap,
# a Debian mirror and an npm registry. The last commit of this checkout is tested. The settings with which this machine reaches its mirror and
# its registry are used in the root, too.
#
#   scripts/root-test.sh SUITE 24|20 [ROOT]      ROOT is kept; if it exists, it is reused
#
# STEPS="run test deb systemd" are the steps; CCACHE=DIR is a folder of ccache to share.
set -euo pipefail

suite=$1 major=$2 root=${3:-}
steps=" ${STEPS:-run test deb systemd} "
here=$(realpath "$(dirname "$0")")
checkout=$(dirname "$here")
work=$(mktemp -d)
source "$here/debian-root.sh"

# What is mounted and started is in namespaces of its own, and ends with them.
run=
trap '[ -z "$run" ] || kill -KILL $run 2>/dev/null || true; rm -rf "$work"' EXIT
if [ -z "$root" ]; then root=$work/root; fi
make_root ca-certificates,systemd,systemd-sysv,procps,curl,git,make
root=$(realpath "$root")

# How this machine reaches its mirror and its registry: files are copied to the same place in the root.
settings=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY NODE_EXTRA_CA_CERTS SSL_CERT_FILE npm_config_registry; do
  if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
done
place() { if [ -f "$1" ]; then mkdir -p "$root$(dirname "$1")"; cp -L "$1" "$root$1"; fi; }
for file in "${NODE_EXTRA_CA_CERTS:-}" "${SSL_CERT_FILE:-}" "$(npm config get cafile)" /etc/resolv.conf /etc/hosts \
  $(grep -ls '^Acquire' /etc/apt/apt.conf.d/* || true); do
  place "$file"
done
if [ -f ~/.npmrc ]; then install -m 600 ~/.npmrc "$root/root/.npmrc"; fi

# in_root COMMAND…: as the child of a shell, which reaps what the tests leave behind. With in_background=exec it replaces this process.
in_root() {
  ${in_background:-} unshare --mount --pid --fork --kill-child bash -ec 'root=$1 ccache=$2; shift 2
    mount --make-rprivate /
    mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"; mount -t proc proc "$root/proc"
    if [ -n "$ccache" ]; then mkdir -p "$root/root/.cache/ccache"; mount --bind "$ccache" "$root/root/.cache/ccache"; fi
    code=0; chroot "$root" env -i "$@" || code=$?; exit $code' bash "$root" "${CCACHE:-}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "${settings[@]}" "$@"
}

# Node in /usr/local, where the packages of deb-test.sh and systemd-test.sh do not look for it.
platform=linux-$(dpkg --print-architecture | sed 's/amd64/x64/')
if [ "$major" != 24 ]; then platform+=-node$major; fi
node=$("$here/node-package.sh" "$platform")
node=${node##*@}
if [ "$(in_root node -p 'process.versions.node' 2>/dev/null)" != "$node" ]; then
  say "Node $node"
  "$here/node-package.sh" "$platform" "$work/node.tgz" >/dev/null
  "$here/node-package.sh" npm "$work/npm.tgz" >/dev/null
  tar xzf "$work/node.tgz" -C "$root/usr/local" --strip-components=1
  chmod 755 "$root/usr/local/bin/node"
  rm -rf "$root/usr/local/lib/node_modules/npm"
  mkdir -p "$root/usr/local/lib/node_modules/npm"
  tar xzf "$work/npm.tgz" -C "$root/usr/local/lib/node_modules/npm" --strip-components=1
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
fi

if [ -d "$root/root/trawl" ]; then
  git -C "$root/root/trawl" fetch -q "$checkout" HEAD && git -C "$root/root/trawl" reset -q --hard FETCH_HEAD
else
  git clone -q --no-hardlinks "$checkout" "$root/root/trawl"
fi
tested=$(git -C "$root/root/trawl" rev-parse --short HEAD)

if [[ $steps == *" run "* ]]; then
  say "make run of $tested, on $suite with Node $node"
  began=$SECONDS
  in_background=exec in_root make -C /root/trawl run >"$work/run" 2>&1 &
  run=$!
  shown=0
  until grep -q '^Ready: ' "$work/run"; do
    kill -0 $run 2>/dev/null || { tail -n 20 "$work/run"; fail "make run ended"; }
    lines=$(wc -l <"$work/run"); head -n "$lines" "$work/run" | tail -n +$((shown + 1)); shown=$lines
    sleep 1
  done
  say "ready after $((SECONDS - began)) s"
  in_root /root/trawl/bin/trawl search --endpoint http://127.0.0.1:7080 --count 3 searcher >"$work/found" || fail "the search failed: $(cat "$work/found")"
  grep -q searcher "$work/found" || fail "the search found nothing: $(cat "$work/found")"
  # Ends its namespace with all processes in it.
  kill -KILL $run; wait $run 2>/dev/null || true
  run=
fi

if [[ $steps == *" test "* ]]; then
  say "make test"
  in_root make --no-print-directory -C /root/trawl test 2>&1 | tee "$work/test" || true
  tail -n 1 "$work/test" | grep -qE '^[0-9]+ passed, 0 failed' || fail "$(grep -aE '^failed: |^[0-9]+ passed' "$work/test" || tail -n 1 "$work/test")"
fi

if [[ $steps == *" deb "* || $steps == *" systemd "* ]]; then
  say "make deb"
  in_root make -C /root/trawl deb
  package=$(ls "$root"/root/trawl/build/trawl_*.deb)
  export NODE=$root/usr/local/bin/node
  if [[ $steps == *" deb "* ]]; then "$here/deb-test.sh" "$package" "$suite" "$root"; fi
  if [[ $steps == *" systemd "* ]]; then "$here/systemd-test.sh" "$package" "$suite" "$root"; fi
fi
say "passed:$steps of $tested on $suite with Node $node"
