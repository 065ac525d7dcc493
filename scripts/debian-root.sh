# Creates a clean Debian root for testing a package. Sourced by deb-test.sh, systemd-test.sh, arm64-test.sh and root-test.sh, which set suite, root
# and work; all but the last also set package, for whose processor the root is.

mirror=${MIRROR:-http://deb.debian.org/debian}
node_here=${NODE:-$(command -v node)}

fail() { echo "failed: $*" >&2; exit 1; }
say() { echo "== $*"; }

# make_root [PACKAGES]: creates the root with additional packages, separated by commas, unless it exists.
make_root() {
  if [ -x "$root/usr/bin/dpkg" ]; then return; fi
  say "debootstrap $suite"
  debootstrap --variant=minbase ${package:+"--arch=$(dpkg-deb -f "$package" Architecture)"} ${1:+--include="$1"} "$suite" "$root" "$mirror" >"$work/debootstrap.log" || { tail -5 "$work/debootstrap.log"; exit 1; }
}

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
install_deb() { inside apt-get install -y -qq --no-install-recommends "$@" >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log" >&2; return 1; }; }

# Installs the release of Node that the package requires: Debian's own, or a package of NODE, by default the one that runs here.
install_node() {
  inside apt-get update -qq
  major=$(dpkg-deb -f "$package" Depends | sed 's/.*nodejs (<< \([0-9]*\)).*/\1/')
  major=$((major - 1))
  if inside node -v 2>/dev/null | grep -q "^v$major\."; then return; fi
  if inside apt-cache policy nodejs | grep -q "Candidate: $major\."; then return; fi
  say "$suite has no Node $major: packaging $node_here"
  mkdir -p "$work/node/DEBIAN" "$work/node/usr/bin" "$root/root/packages"
  cp -L "$node_here" "$work/node/usr/bin/node"
  cp -L "$node_here" "$root/root/packages/node"
  # It may be for the processor of the root alone, which has its libraries.
  node_version=$(inside /root/packages/node -p process.versions.node)
  [ "${node_version%%.*}" = "$major" ] || fail "$node_here is not Node $major: set NODE"
  printf 'Package: nodejs\nVersion: %s\nArchitecture: %s\nMaintainer: test <test@localhost>\nDepends: libc6, libstdc++6\nDescription: Node for a test\n' \
    "$node_version" "$(dpkg-deb -f "$package" Architecture)" >"$work/node/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip --build "$work/node" "$root/root/packages/nodejs.deb" >/dev/null
  install_deb /root/packages/nodejs.deb
}
