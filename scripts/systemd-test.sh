#!/usr/bin/env bash
# Runs the packaged unit under a real systemd, as the first process of new namespaces (including the network) in a clean
# Debian root. Needs root, debootstrap, a Debian mirror, and a mounted cgroup2 file system.
#
#   scripts/systemd-test.sh PACKAGE.deb [SUITE [ROOT]]      ROOT is kept; if it exists, it is reused
set -euo pipefail

package=$(realpath "$1") suite=${2:-bookworm} root=${3:-}
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
group=
source "$here/debian-root.sh"

clean() {
  touch "$work/enough"
  if [ -n "$group" ]; then
    echo 1 >"$group/cgroup.kill"
    wait 2>/dev/null || true
    for _ in $(seq 100); do if ! grep -q . "$group"/cgroup.procs "$group"/*/cgroup.procs 2>/dev/null; then break; fi; sleep 0.1; done
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap clean EXIT

if [ -z "$root" ]; then root=$work/root; fi
make_root systemd,systemd-sysv,procps,curl,git,ca-certificates
root=$(realpath "$root")
mkdir -p "$root/root/packages"
cp "$package" "$root/root/packages/trawl.deb"
inside apt-get purge -y -qq trawl >/dev/null 2>&1 || true
rm -rf "$root"/var/lib/trawl* "$root/srv/source" "$root/backup" "$root/etc/systemd/system/trawld.service.d"
install_node
inside apt-get install -y -qq --no-install-recommends --download-only /root/packages/trawl.deb >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; exit 1; }

boot() {
  local mounted
  mounted=$(findmnt -n -t cgroup2 -o TARGET | head -1)
  [ -n "$mounted" ] || fail "no cgroup2 file system is mounted"
  # No terminal is needed, and a getty would change the owner of its device.
  for unit in console-getty getty@tty1; do ln -sf /dev/null "$root/etc/systemd/system/$unit.service"; done
  group=$mounted/trawl-test-$$
  mkdir "$group"
  bash -c 'echo $$ >"$0/cgroup.procs"; exec unshare --pid --fork --mount --cgroup --ipc --uts --net "$1/systemd-boot.sh" "$2"' "$group" "$here" "$root" >"$work/boot" 2>&1 </dev/null &
  for _ in $(seq 300); do
    init=$(pgrep -P $! -x systemd || true)
    # Its exit code is 1 if a unit failed, as one that loads modules does in a container.
    state=$([ -z "$init" ] || booted systemctl is-system-running 2>/dev/null || true)
    case "$state" in running | degraded) return ;; esac
    sleep 0.1
  done
  fail "systemd did not boot (${state:-not started}): $(cat "$work/boot")"
}
booted() { nsenter -t "$init" -p -m -C -i -u -n -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
property() { booted systemctl show -P "$1" trawld; }
journal() { booted journalctl -u trawld --no-pager -o cat -n "${1:-20}"; }
url=http://127.0.0.1:7080
get() { booted curl -s -o /dev/null --max-time 30 -w '%{http_code}' "$url$1" || true; }
# stream NAME: reads a long response into the file NAME, slowly enough that it is still open when the daemon stops.
stream() { rm -f "$root/root/$1"; booted curl -sN --limit-rate 400k -o "/root/$1" "$url/.api/search/stream?q=needle+count:all"; }
await_bytes() { for _ in $(seq 300); do if [ "$(stat -c %s "$root/root/$1" 2>/dev/null || echo 0)" -gt 100000 ]; then return; fi; sleep 0.1; done; fail "no response was received"; }
# requireEnded NAME: checks that the response in the file NAME was ended by a stopping daemon with its final events.
requireEnded() {
  tail -c 4096 "$root/root/$1" | tr '\n' ' ' | grep -q 'event: progress data: {"done":true.*the daemon is stopping.*event: done data: {} *$' || fail "the stream ended with: $(tail -c 1000 "$root/root/$1")"
}

say "boot"
boot
say "install: the unit is started, and is ready when systemctl returns"
booted apt-get install -y -qq --no-install-recommends /root/packages/trawl.deb >"$work/apt.log" 2>&1 || { tail "$work/apt.log"; journal; fail "the package was not installed"; }
booted systemctl restart trawld
[ "$(get /healthz)" = 200 ] || fail "the daemon was started but is not listening: $(journal)"
[ "$(property StatusText)" = "Listening on $url" ] || fail "the status is $(property StatusText)"
[ "$(property Type) $(property User) $(property ActiveState)" = "notify trawl active" ] || fail "the unit has different properties than the packaged one"

say "exposure"
exposure=$(booted systemd-analyze security trawld --no-pager | sed -n 's/.*Overall exposure level for trawld.service: \([0-9.]*\).*/\1/p')
awk "BEGIN { exit !($exposure <= 1.3) }" || fail "the exposure is $exposure"
echo "exposure $exposure"

say "a repository is fetched and searched under the unit's restrictions"
booted bash -ec 'git init -q -b main /srv/source; cd /srv/source
  for i in $(seq 40); do seq -f "a needle in line %.0f of a file that is large enough for a long response" 5000 >file$i.txt; done
  git -c user.name=a -c user.email=a@b add .; git -c user.name=a -c user.email=a@b commit -q -m one'
booted runuser -u trawl -- trawl repo add host/source /srv/source >"$work/add" || fail "$(cat "$work/add"; journal)"
booted trawl search --count 1 needle | grep -q "a needle" || fail "the search found nothing"

say "reload: a valid file is accepted, an invalid one is rejected with the line of the error"
echo '{"contexts": [{"name": "all", "query": "repo:."}]}' >"$root/etc/trawl/trawl.jsonc"
booted systemctl reload trawld || fail "a valid configuration was rejected: $(journal)"
echo '{"workres": 1}' >"$root/etc/trawl/trawl.jsonc"
if booted systemctl reload trawld 2>/dev/null; then fail "an invalid configuration was accepted"; fi
journal 6 | grep -q 'trawl.jsonc:1: .*workres' || fail "the error is not in the journal: $(journal)"
[ "$(get /healthz)" = 200 ] || fail "the daemon does not respond after the reload"
if booted systemctl restart trawld 2>/dev/null; then fail "the daemon started with an invalid configuration"; fi
booted sleep 3
[ "$(property NRestarts) $(property ActiveState)" = "0 failed" ] || fail "the start with an invalid configuration was repeated: $(journal)"
echo '{}' >"$root/etc/trawl/trawl.jsonc"
booted systemctl start trawld || fail "the daemon did not start with a valid configuration: $(journal)"

say "restart: no connection is refused, and open streams get their final events"
stream before & reader=$!
await_bytes before
askers=()
for i in 1 2 3 4; do
  ( until [ -e "$work/enough" ]; do get /healthz; echo; done >"$work/codes$i" ) & askers+=($!)
done
booted systemctl restart trawld || fail "the restart failed: $(journal)"
touch "$work/enough"
wait $reader || fail "the reader of a stream ended with an error"
wait "${askers[@]}"
cat "$work"/codes? >"$work/codes"
requireEnded before
echo "responses during the restart: $(sort "$work/codes" | uniq -c | tr '\n' ' ')"
if grep -vqx 200 "$work/codes"; then fail "connections failed: $(sort "$work/codes" | uniq -c)"; fi
booted trawl search --count 1 needle | grep -q "a needle" || fail "the search found nothing after the restart"

say "blocked main thread: the watchdog ends the daemon, and systemd restarts it"
before=$(property MainPID)
booted kill -STOP "$before"
began=$SECONDS
until [ "$(property NRestarts)" -ge 1 ] && [ "$(property ActiveState) $(property SubState)" = "active running" ]; do
  [ $((SECONDS - began)) -lt 60 ] || fail "the daemon was not restarted: $(booted systemctl status trawld --no-pager)"
  sleep 0.2
done
[ "$(property MainPID)" != "$before" ] || fail "the process was not replaced"
[ "$(get /healthz)" = 200 ] || fail "the restarted daemon is not listening"
journal | grep -qi watchdog || fail "the journal does not mention the watchdog"
echo "restarted after $((SECONDS - began)) s"

say "crash: systemd restarts the daemon"
before=$(property MainPID)
booted kill -SEGV "$before"
began=$SECONDS
until [ "$(property MainPID)" != "$before" ] && [ "$(property ActiveState) $(property SubState)" = "active running" ]; do
  [ $((SECONDS - began)) -lt 30 ] || fail "the daemon was not restarted: $(booted systemctl status trawld --no-pager)"
  sleep 0.1
done
[ "$(get /healthz)" = 200 ] || fail "the restarted daemon is not listening"

say "many restarts within a few seconds: none is refused"
for i in $(seq 6); do booted systemctl restart trawld || fail "restart $i failed: $(journal)"; done

say "webhook: a script tells of a push, which is fetched and found"
echo the-secret-of-a-script >"$root/etc/trawl/script-hook"
booted sh -c 'chgrp trawl /etc/trawl/script-hook; chmod 640 /etc/trawl/script-hook'
echo '{"webhooks": {"secrets": {"script": "file:/etc/trawl/script-hook"}}}' >"$root/etc/trawl/trawl.jsonc"
booted systemctl restart trawld || fail "the daemon did not start: $(journal)"
booted bash -ec 'cd /srv/source; echo "a thimble" >thimble.txt; git add .; git -c user.name=a -c user.email=a@b commit -q -m two'
push() { booted curl -s -H "Authorization: Bearer $1" -d '{"repository": "host/source"}' "$url/.api/webhooks/script"; }
push another-secret-of-a-script | grep -q host/source && fail "a wrong secret was accepted"
push the-secret-of-a-script | grep -q host/source || fail "the webhook answered: $(push the-secret-of-a-script)"
for _ in $(seq 100); do if booted trawl search --count 1 thimble | grep -q "a thimble"; then break; fi; sleep 0.1; done
booted trawl search --count 1 thimble | grep -q "a thimble" || fail "the pushed commit was not found: $(journal)"

say "backup to a folder that a drop-in makes writable, restore to an empty directory"
booted bash -ec 'install -d -o trawl -g trawl -m 0700 /backup/trawl; mkdir -p /etc/systemd/system/trawld.service.d
  printf "[Service]\nReadWritePaths=/backup/trawl\n" >/etc/systemd/system/trawld.service.d/backup.conf; systemctl daemon-reload; systemctl restart trawld'
booted runuser -u trawl -- trawl backup /backup/trawl || fail "the backup failed: $(journal)"
booted bash -ec 'systemctl stop trawld; mv /var/lib/trawl /var/lib/trawl.before; install -d -o trawl -g trawl -m 0700 /var/lib/trawl'
booted runuser -u trawl -- trawl restore /backup/trawl || fail "the restore failed"
booted runuser -u trawl -- trawl check || fail "the check found faults"
booted systemctl start trawld
booted trawl search --count 1 needle | grep -q "a needle" || fail "the search found nothing after the restore"

say "stop: open streams get their final events"
readers=()
for i in $(seq 8); do stream "after$i" & readers+=($!); done
for i in $(seq 8); do await_bytes "after$i"; done
began=$SECONDS
booted systemctl stop trawld
echo "stopped after $((SECONDS - began)) s"
[ $((SECONDS - began)) -le 12 ] || fail "the stop took $((SECONDS - began)) s"
for reader in "${readers[@]}"; do wait "$reader" || fail "the reader of a stream ended with an error"; done
for i in $(seq 8); do requireEnded "after$i"; done
[ "$(property Result)" = success ] || fail "the result of the unit is $(property Result)"
say "passed: $(basename "$package") under $(booted systemctl --version | head -1) on $suite"
