#!/usr/bin/env bash
# Installs the package for arm64 in a Debian root for arm64, with Node for arm64, and uses it, under emulation; then runs tests of this checkout
# there with the native code of the package: of the kernels these are the NEON loops, the portable ones and the one in TypeScript. Needs root,
# debootstrap, a Debian mirror, and what `make deb ARCH=arm64` has made.
#
#   scripts/arm64-test.sh PACKAGE.deb [ROOT]      ROOT is kept; if it exists, it is reused
#
# STEPS="package tests" are the steps, TESTS="unit/native/kernel-scan" the tests.
set -euo pipefail

here=$(realpath "$(dirname "$0")")
checkout=$(dirname "$here")
tree=$checkout/build/arm64
[ "$(id -u)" = 0 ] || { echo "trawl: it needs root: run sudo make arm64-test" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "trawl: debootstrap is not installed: apt-get install debootstrap" >&2; exit 2; }
formats=/proc/sys/fs/binfmt_misc
[ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats 2>/dev/null ||
  { echo "trawl: this kernel has no binfmt_misc, with which it starts programs for arm64: run modprobe binfmt_misc, outside of a container" >&2; exit 2; }
if [ "$1" = tools ]; then exit 0; fi

package=$(realpath "$1") suite=trixie
root=$(realpath -m "${2:-$checkout/build/arm64-root}")
steps=" ${STEPS:-package tests} "
tests=(unit/native/kernel-{bounds,datagram,digest,documents,encode,memory,patterns,postings,process,scan,socket,symbols} unit/regexp/regexp-analysis)
if [ -n "${TESTS:-}" ]; then read -ra tests <<<"$TESTS"; fi
work=$(mktemp -d)
daemon=
format=trawl-arm64-$$
clean() {
  [ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null || true
  if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
  if [ -e $formats/$format ]; then echo -1 >$formats/$format; fi
  rm -rf "$work"
}
trap clean EXIT
NODE=$tree/node/bin/node
source "$here/debian-root.sh"

# The kernel of this machine gives each program for arm64 to the emulator: processors of that kind in the header of ELF. The flags are those of
# Debian's qemu-user-binfmt: the file is opened here, and not in the root, and the program gets the name that it was started by.
zeros='\x00\x00\x00\x00\x00\x00\x00\x00' ones='\xff\xff\xff\xff\xff\xff\xff\xff'
echo ":$format:M::\\x7fELF\\x02\\x01\\x01\\x00$zeros\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00$ones\\xfe\\xff\\xff\\xff:$tree/emulator/usr/bin/qemu-aarch64:PF" \
  >$formats/register
emulator=$("$tree/emulator/usr/bin/qemu-aarch64" --version | head -n 1)

make_root ca-certificates,git,libatomic1,libdeflate0,libstdc++6,python3-minimal,systemd-standalone-sysusers,universal-ctags
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"

# as_trawl COMMAND…: in the root, as the user of the daemon, in place of this process.
as_trawl() { exec chroot --userspec=trawl:trawl "$root" env -i PATH=/usr/bin:/bin HOME=/var/lib/trawl LC_ALL=C.UTF-8 "$@"; }
# ask PATH [BODY]: the answer of the daemon.
ask() {
  node -e 'fetch(process.argv[1], process.argv[2] ? { method: "POST", headers: { "content-type": "application/json" }, body: process.argv[2] } : {})
    .then(async (answer) => console.log(answer.status, await answer.text()))' "$url$1" "${2:-}"
}
# is_found WHAT PATTERN PATH [BODY]
is_found() {
  ask "$3" "${4:-}" >"$work/answer"
  grep -q "$2" "$work/answer" || fail "$1: $(head -c 2000 "$work/answer")"
}

if [[ $steps == *" package "* ]]; then
  for name in trawl nodejs; do inside apt-get purge -y -qq $name >/dev/null 2>&1 || true; done
  rm -rf "$root/etc/trawl" "$root/var/lib/trawl" "$root/srv/source"
  install_node
  say "install $(basename "$package")"
  mkdir -p "$root/root/packages"
  cp "$package" "$root/root/packages/trawl.deb"
  began=$SECONDS
  install_deb /root/packages/trawl.deb
  [ -z "$(inside dpkg --audit)" ] || fail "$(inside dpkg --audit)"
  [ "$(inside trawl --version)" = "$(dpkg-deb -f "$package" Version)" ] || fail "its version is $(inside trawl --version)"
  say "installed after $((SECONDS - began)) s; on this processor it says in a line what is missing"
  code=0; node "$root/usr/lib/trawl/bin/trawl" --version >"$work/out" 2>"$work/err" || code=$?
  [ "$code" = 2 ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -q '^trawl: this was compiled for Node 24 on arm64, and this is Node .* on x64: ' "$work/err" ||
    fail "exit code $code: $(cat "$work/err")"
  cat "$work/err"

  say "start the daemon with Node for arm64"
  mkdir "$root/srv/source"
  git -C "$checkout" archive HEAD bin src/native src/query docs | tar -x -C "$root/srv/source"
  inside git init -q -b main /srv/source
  inside git -C /srv/source add .
  inside git -C /srv/source -c user.name=a -c user.email=a@b commit -q -m "bin, src/native, src/query and docs of Trawl"
  chmod -R go+rX "$root/srv/source"
  # The emulator has no filters of system calls, without which ctags refuses to read from its input.
  echo 'int seccomp_load(void *filter) { return 0; }' | aarch64-linux-gnu-gcc -shared -fPIC -x c - -o "$root/usr/local/lib/no-filters.so"
  printf '#!/bin/sh\nLD_PRELOAD=/usr/local/lib/no-filters.so exec /usr/bin/ctags "$@"\n' >"$root/usr/local/bin/ctags-without-filters"
  chmod 755 "$root/usr/local/bin/ctags-without-filters"
  began=$SECONDS
  (as_trawl trawl serve --config /etc/trawl/trawl.jsonc --data /var/lib/trawl --listen 127.0.0.1:0 --set auth.public=true \
    --set index.ctagsCommand=/usr/local/bin/ctags-without-filters) >"$work/serve" 2>"$work/err" &
  daemon=$!
  for _ in $(seq 1200); do
    url=$(sed -n 's/^trawld: listening on //p' "$work/serve")
    [ -z "$url" ] || break
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  [ -n "$url" ] || fail "the daemon did not start: $(tail -n 5 "$work/serve" "$work/err")"
  say "listening after $((SECONDS - began)) s; add a repository"
  began=$SECONDS
  (as_trawl timeout 600 trawl repo add host/source /srv/source --data /var/lib/trawl) >"$work/added" 2>&1 ||
    fail "no repository is added: $(tail -n 3 "$work/added"); $(tail -n 20 "$work/serve" "$work/err")"
  tail -n 1 "$work/added"
  say "indexed after $((SECONDS - began)) s; search"
  inside trawl search --endpoint "$url" 'lang:c++ NEON' | grep -q loops-neon || fail "trawl search found nothing"
  is_found "a search of content" '"line":".*uint8x16_t' '/.api/search/stream?q=file:loops-neon+uint8x16_t'
  is_found "a regular expression" '"path":"docs/installation.md"' '/.api/search/stream?q=file:%5Edocs/+/(arm64%7Camd64)%5CW%2B%5Cw%2B/'
  is_found "a search of commits" '"type":"commit"' '/.api/search/stream?q=type:commit+native'
  is_found "a search of diffs" '"type":"diff"' '/.api/search/stream?q=type:diff+count:all+file:loops-neon+uint8x16_t'
  # They are extracted after the repository can be searched.
  for _ in $(seq 150); do
    if ask '/.api/search/stream?q=type:symbol+file:src/native+Neon' | grep -q '"type":"symbol"'; then break; fi
    sleep 2
  done
  is_found "a search of symbols" '"type":"symbol"' '/.api/search/stream?q=type:symbol+file:src/native+Neon'
  is_found "GraphQL" '"path":"src/native/kernel/loops-neon.cc"' '/.api/graphql' '{"query":"{ search(query: \"file:loops-neon\") { results { matchCount results { ... on FileMatch { file { path } } } } } }"}'
  is_found "a file, its symbols and its highlighting over GraphQL" '"name":"[A-Za-z]' '/.api/graphql' \
    '{"query":"{ repository(name: \"host/source\") { commit(rev: \"HEAD\") { blob(path: \"src/native/kernel/loops-neon.cc\") { content highlight(disableTimeout: true) { html } symbols { nodes { name } } } } } }"}'
  is_found "the pages" '<!doctype html' /search
  # Lines of level 40 and above are warnings and errors. At its end the daemon may have some, as work takes long under emulation.
  if grep -hE '"level":[4-9][0-9],' "$work/serve" "$work/err" >"$work/warned"; then fail "the daemon warned: $(cat "$work/warned")"; fi
  say "SIGTERM"
  began=$SECONDS
  kill -TERM "$daemon"
  code=0; wait "$daemon" || code=$?
  daemon=
  [ "$code" = 0 ] || fail "exit code $code after SIGTERM: $(tail -n 5 "$work/err")"
  say "ended after $((SECONDS - began)) s; check"
  (as_trawl timeout 600 trawl check --data /var/lib/trawl) >"$work/check" 2>&1 || fail "the data is not intact: $(cat "$work/check")"
  tail -n 3 "$work/check"
  inside apt-get purge -y -qq trawl >/dev/null 2>&1
fi

if [[ $steps == *" tests "* ]]; then
  say "tests with the native code of the package"
  mkdir -p "$root/trawl" "$root/node"
  # The emulator says nothing of the session of a process, applies no limit to its data, because it has data of its own, has a copy of the memory
  # where vfork shares it, in which the child says why it could not start, and takes long.
  emulated=' (a session of its own, and default signals|limits apply to the process and its children|the addon: a process that cannot be started|required literals are limited in number, and found quickly) #'
  faults=0
  for name in "${tests[@]}"; do
    code=0 began=$SECONDS
    # The packages of the checkout, with those for arm64 in their place. The emulator takes ten to twenty times as long.
    unshare --mount --fork --kill-child bash -ec 'root=$1 checkout=$2 tree=$3; shift 3
      mount --make-rprivate /
      mount --rbind /dev "$root/dev"
      mount --bind "$checkout" "$root/trawl"
      mount --bind "$tree/node" "$root/node"
      mount -t overlay overlay -o "lowerdir=$tree/node_modules:$checkout/node_modules" "$root/trawl/node_modules"
      mount --bind "$tree/src/native/build/Release" "$root/trawl/src/native/build/Release"
      mount -t tmpfs tmpfs "$root/tmp"
      exec env -i PATH=/node/bin:/usr/bin HOME=/tmp LC_ALL=C.UTF-8 TAP_TIMEOUT=7200 /usr/sbin/chroot "$root" "$@"' bash \
      "$root" "$checkout" "$tree" /node/bin/node "/trawl/dist/test/$name.test.js" \
      >"$root/test.tap" 2>"$root/test.err" || code=$?
    passed=$(grep -cE '^ +ok ' "$root/test.tap" || true) failed=$(grep -cE '^ +not ok ' "$root/test.tap" || true)
    skipped=$(grep -cE '^ *ok .* # SKIP' "$root/test.tap" || true)
    echo "  $name: $passed passed, $failed failed, $skipped skipped, $((SECONDS - began)) s"
    if [ "$code" != 0 ] && grep -E '^not ok ' "$root/test.tap" >"$work/failed" && ! grep -qvE "$emulated" "$work/failed"; then
      sed 's/^not ok [0-9]* - \(.*\) #.*/    not under emulation: \1/' "$work/failed"
    elif [ "$code" != 0 ]; then
      faults=$((faults + 1))
      (grep -A 15 -E '^ *not ok ' "$root/test.tap" || true) | head -n 40
      tail -n 5 "$root/test.err"
    fi
  done
  [ "$faults" = 0 ] || fail "tests for arm64"
fi
say "passed:${steps}on arm64, with $emulator"
