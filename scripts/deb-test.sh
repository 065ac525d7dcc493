#!/usr/bin/env bash
# Installs, uses, upgrades, rolls back and removes the package in a clean Debian root. Needs root, debootstrap and a
# Debian mirror.
#
#   scripts/deb-test.sh PACKAGE.deb [SUITE [ROOT]]      ROOT is kept; if it exists, it is reused
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
# What an earlier test has left in a root that is kept.
for name in trawl nodejs; do inside apt-get purge -y -qq $name >/dev/null 2>&1 || true; done
rm -rf "$root/etc/trawl" "$root/var/lib/trawl" "$root/srv/source"

version=$(dpkg-deb -f "$package" Version)
mkdir -p "$root/root/packages"
cp "$package" "$root/root/packages/old.deb"

# To test an upgrade: the same program with a later version and a different default configuration.
later=$version+later
dpkg-deb -R "$package" "$work/later"
sed -i "s/^Version: .*/Version: $later/" "$work/later/DEBIAN/control"
echo "// Of a later version." >>"$work/later/etc/trawl/trawl.jsonc"
dpkg-deb --root-owner-group -Zgzip --build "$work/later" "$root/root/packages/new.deb" >/dev/null

say "without the required Node nothing is unpacked"
if inside dpkg --force-depends -i /root/packages/old.deb >"$work/refused.log" 2>&1; then fail "the package was installed without Node"; fi
grep -q "trawl: install Node" "$work/refused.log" || fail "the error does not say how to fix it: $(cat "$work/refused.log")"
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
[ "$(inside stat -c '%U %G %a' /etc/trawl/trawl.jsonc)" = "root trawl 640" ] || fail "owner and mode of the configuration: $(inside stat -c '%U %G %a' /etc/trawl/trawl.jsonc)"
[ "$(inside stat -c '%U %a' /var/lib/trawl)" = "trawl 700" ] || fail "owner and mode of the data directory: $(inside stat -c '%U %a' /var/lib/trawl)"
inside trawl config check /etc/trawl/trawl.jsonc >/dev/null || fail "the installed configuration is invalid"
inside systemd-analyze verify /usr/lib/systemd/system/trawld.service 2>"$work/verify" || fail "the unit is invalid: $(cat "$work/verify")"
gzip -dc "$root/usr/share/man/man1/trawl.1.gz" | grep -q "trawl repo add" || fail "a command is missing from the manual page"
completed=$(inside bash -c 'source /usr/share/bash-completion/completions/trawl; COMP_WORDS=(trawl repo ""); COMP_CWORD=2; _trawl; echo "${COMPREPLY[*]}"')
[ "$completed" = "add set list remove sync" ] || fail "wrong completion: $completed"

say "add a repository and search"
inside git init -q -b main /srv/source
echo "a needle" >"$root/srv/source/file.txt"
inside git -C /srv/source -c user.name=a -c user.email=a@b add .
inside git -C /srv/source -c user.name=a -c user.email=a@b commit -q -m one
start
inside trawl repo add host/source /srv/source | tail -1
search | grep -q "a needle" || fail "the search found nothing"
stop

say "upgrade to $later, with a modified configuration"
sed -i 's|// "workers": 4,|"workers": 1,|' "$root/etc/trawl/trawl.jsonc"
install_deb -o Dpkg::Options::=--force-confold /root/packages/new.deb
[ "$(inside dpkg-query -W -f '${Version}' trawl)" = "$later" ] || fail "the later version is not installed"
grep -q '^  "workers": 1,' "$root/etc/trawl/trawl.jsonc" || fail "the configuration was overwritten"
start; search | grep -q "a needle" || fail "the search found nothing after the upgrade"; stop

say "roll back to $version"
install_deb --allow-downgrades -o Dpkg::Options::=--force-confold /root/packages/old.deb
[ "$(inside dpkg-query -W -f '${Version}' trawl)" = "$version" ] || fail "the earlier version is not installed"
start; search | grep -q "a needle" || fail "the search found nothing after the rollback"; stop

say "an invalid configuration is reported, and the upgrade succeeds"
sed -i 's|"workers": 1,|"workres": 1,|' "$root/etc/trawl/trawl.jsonc"
install_deb -o Dpkg::Options::=--force-confold /root/packages/new.deb
grep -q "is invalid" "$work/apt.log" || fail "the invalid configuration is not reported"
sed -i 's|"workres": 1,|"workers": 1,|' "$root/etc/trawl/trawl.jsonc"

say "remove, then purge"
inside apt-get remove -y -qq trawl >/dev/null 2>&1
[ ! -e "$root/usr/lib/trawl" ] && [ ! -e "$root/usr/bin/trawl" ] || fail "files remain after remove: $(find "$root/usr/lib/trawl" | head -3)"
[ -e "$root/etc/trawl/trawl.jsonc" ] || fail "remove deleted the configuration"
inside apt-get purge -y -qq trawl >/dev/null 2>&1
[ ! -e "$root/etc/trawl" ] || fail "files remain after purge: $(ls -A "$root/etc/trawl")"
[ -e "$root/var/lib/trawl/version" ] || fail "purge deleted the data"
rm -rf "$root/var/lib/trawl" "$root/srv/source"
inside apt-get purge -y -qq nodejs >/dev/null 2>&1 || true
say "passed: $(basename "$package") on $suite with Node $major"
