#!/usr/bin/env bash
# Installs, uses, upgrades, rolls back and removes the package in a clean Debian root. Needs root, debootstrap and a mirror.
#
#   scripts/deb-test.sh PACKAGE.deb [SUITE [ROOT]]      a ROOT that is there already is used and kept
set -euo pipefail

package=$(realpath "$1") suite=${2:-bookworm} root=${3:-}
work=$(mktemp -d)
daemon=
source "$(dirname "$0")/debian-root.sh"

clean() {
  [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
  if mountpoint -q "$root/proc"; then umount "$root/proc"; fi
  rm -rf "$work"
}
trap clean EXIT

if [ -z "$root" ]; then root=$work/root; fi
make_root
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"

version=$(dpkg-deb -f "$package" Version)
mkdir -p "$root/root/packages"
cp "$package" "$root/root/packages/old.deb"

# The same program under a later version, with another default configuration: what an upgrade is to dpkg.
later=$version+later
dpkg-deb -R "$package" "$work/later"
sed -i "s/^Version: .*/Version: $later/" "$work/later/DEBIAN/control"
echo "// Of a later version." >>"$work/later/etc/trawl/trawl.jsonc"
dpkg-deb --root-owner-group -Zgzip --build "$work/later" "$root/root/packages/new.deb" >/dev/null

say "without the right Node nothing is unpacked"
if inside dpkg --force-depends -i /root/packages/old.deb >"$work/refused.log" 2>&1; then fail "it was installed without Node"; fi
grep -q "trawl: install Node" "$work/refused.log" || fail "no remedy: $(cat "$work/refused.log")"
[ ! -e "$root/usr/lib/trawl" ] || fail "files were unpacked"

install_node

start() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin runuser -u trawl -- \
    trawl serve --config /etc/trawl/trawl.jsonc --data /var/lib/trawl --listen 127.0.0.1:0 >"$work/out" 2>"$work/err" &
  daemon=$!
  for _ in $(seq 600); do
    url=$(sed -n 's/^trawld: listening on //p' "$work/out")
    if [ -n "$url" ]; then return; fi
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  fail "the daemon did not start: $(cat "$work/err")"
}
stop() {
  pid=$(inside cat /proc/"$daemon"/task/"$daemon"/children 2>/dev/null | tr -d ' ' || true)
  kill -TERM "${pid:-$daemon}"
  wait "$daemon" || true
  daemon=
}
search() { inside trawl search --endpoint "$url" needle; }

say "install $version"
install_deb /root/packages/old.deb
[ "$(inside stat -c '%U %G %a' /etc/trawl/trawl.jsonc)" = "root trawl 640" ] || fail "the configuration is $(inside stat -c '%U %G %a' /etc/trawl/trawl.jsonc)"
[ "$(inside stat -c '%U %a' /var/lib/trawl)" = "trawl 700" ] || fail "the data directory is $(inside stat -c '%U %a' /var/lib/trawl)"
inside trawl config check /etc/trawl/trawl.jsonc >/dev/null || fail "the configuration that is installed is not good"
inside systemd-analyze verify /usr/lib/systemd/system/trawld.service 2>"$work/verify" || fail "the unit: $(cat "$work/verify")"
gzip -dc "$root/usr/share/man/man1/trawl.1.gz" | grep -q "trawl repo add" || fail "the manual lacks a command"
completed=$(inside bash -c 'source /usr/share/bash-completion/completions/trawl; COMP_WORDS=(trawl repo ""); COMP_CWORD=2; _trawl; echo "${COMPREPLY[*]}"')
[ "$completed" = "add set list remove sync" ] || fail "completion says: $completed"

say "use"
inside git init -q -b main /srv/source
echo "a needle" >"$root/srv/source/file.txt"
inside git -C /srv/source -c user.name=a -c user.email=a@b add .
inside git -C /srv/source -c user.name=a -c user.email=a@b commit -q -m one
start
inside trawl repo add host/source /srv/source | tail -1
search | grep -q "a needle" || fail "nothing is found"
stop

say "upgrade to $later, with a configuration that was changed"
sed -i 's|// "workers": 4,|"workers": 1,|' "$root/etc/trawl/trawl.jsonc"
install_deb -o Dpkg::Options::=--force-confold /root/packages/new.deb
[ "$(inside dpkg-query -W -f '${Version}' trawl)" = "$later" ] || fail "it is not the later version"
grep -q '^  "workers": 1,' "$root/etc/trawl/trawl.jsonc" || fail "the configuration was overwritten"
start; search | grep -q "a needle" || fail "the data is lost by the upgrade"; stop

say "roll back to $version"
install_deb --allow-downgrades -o Dpkg::Options::=--force-confold /root/packages/old.deb
[ "$(inside dpkg-query -W -f '${Version}' trawl)" = "$version" ] || fail "it is not the version before"
start; search | grep -q "a needle" || fail "the data is lost by the rollback"; stop

say "a configuration with a mistake is told, and breaks no upgrade"
sed -i 's|"workers": 1,|"workres": 1,|' "$root/etc/trawl/trawl.jsonc"
install_deb -o Dpkg::Options::=--force-confold /root/packages/new.deb
grep -q "has mistakes" "$work/apt.log" || fail "the mistake is not told"
sed -i 's|"workres": 1,|"workers": 1,|' "$root/etc/trawl/trawl.jsonc"

say "remove, then purge"
inside apt-get remove -y -qq trawl >/dev/null 2>&1
[ ! -e "$root/usr/lib/trawl" ] && [ ! -e "$root/usr/bin/trawl" ] || fail "files are left: $(find "$root/usr/lib/trawl" | head -3)"
[ -e "$root/etc/trawl/trawl.jsonc" ] || fail "the configuration is gone after remove"
inside apt-get purge -y -qq trawl >/dev/null 2>&1
[ ! -e "$root/etc/trawl" ] || fail "the configuration is left after purge: $(ls -A "$root/etc/trawl")"
[ -e "$root/var/lib/trawl/version" ] || fail "the data is gone"
rm -rf "$root/var/lib/trawl" "$root/srv/source"
inside apt-get purge -y -qq nodejs >/dev/null 2>&1 || true
say "good: $(basename "$package") on $suite with Node $major"
