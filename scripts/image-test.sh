#!/usr/bin/env bash
# Starts the container image as a new user would: without a volume, which is refused; with one, to a search; its health; its end. The root is
# read-only, and nobody is root. Needs root, podman and runc or crun.
#
#   scripts/image-test.sh VERSION
set -euo pipefail

image=localhost/trawl:$1
work=$(mktemp -d)
name=trawl-image-test-$$
port=
fail() { echo "failed: $*" >&2; podman logs "$name" 2>&1 | tail -n 10 >&2 || true; exit 1; }
say() { echo "== $*"; }
clean() {
  podman rm -f "$name" >/dev/null 2>&1 || true
  podman volume rm -f "$name" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
command -v podman >/dev/null || { echo "trawl: podman is not installed: apt-get install podman runc" >&2; exit 2; }

# podman's own limits may be above those of this machine.
limits=(--ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" --ulimit nproc=4096:4096)
if command -v runc >/dev/null; then runtime=(--runtime runc); else runtime=(); fi
# What package/compose.yaml says, for podman, whose health checks need systemd: the command of the check is run below. The test has the host's network, so that it works where no bridge can be made.
start() { podman "${runtime[@]}" --cgroup-manager cgroupfs run --name "$name" --no-healthcheck --network host --read-only --cap-drop ALL --security-opt no-new-privileges "${limits[@]}" "$@"; }
serve=(serve --config /etc/trawl/trawl.jsonc --listen 127.0.0.1:0)
inside() { podman exec "$name" "$@"; }

say "without a volume it says in a line what is missing"
code=0; start --rm "$image" >"$work/out" 2>"$work/err" || code=$?
[ "$code" = 2 ] || fail "exit code $code: $(cat "$work/err")"
[ "$(wc -l <"$work/err")" = 1 ] && grep -q 'nothing is mounted at /var/lib/trawl.*--volume' "$work/err" || fail "$(cat "$work/err")"

say "and with one that is read-only, or not its own"
mkdir "$work/data" "$work/foreign"
chmod 755 "$work" "$work/foreign"
code=0; start --rm --volume "$work/data:/var/lib/trawl:ro" "$image" "${serve[@]}" >"$work/out" 2>"$work/err" || code=$?
[ "$code" != 0 ] && grep -q 'file system is read-only; mount a volume' "$work/err" || fail "exit code $code: $(cat "$work/err")"
code=0; start --rm --volume "$work/foreign:/var/lib/trawl" "$image" "${serve[@]}" >"$work/out" 2>"$work/err" || code=$?
[ "$code" != 0 ] && grep -q 'user 10001 may not write there' "$work/err" || fail "exit code $code: $(cat "$work/err")"

say "from nothing to a search"
git init -q -b main "$work/source"
echo "a needle" >"$work/source/file.txt"
git -C "$work/source" add .
git -C "$work/source" -c user.name=a -c user.email=a@b commit -q -m one
podman volume create "$name" >/dev/null
start --detach --volume "$name:/var/lib/trawl" --volume "$work/source:/srv/source:ro" "$image" "${serve[@]}" --set auth.public=true >/dev/null
for _ in $(seq 600); do
  url=$(podman logs "$name" 2>/dev/null | sed -n 's/^trawld: listening on //p')
  [ -z "$url" ] || break
  sleep 0.1
done
[ -n "$url" ] || fail "it did not start"
inside trawl --version
inside trawl repo add host/source /srv/source | tail -n 1
inside trawl search --endpoint "$url" needle | grep -q "a needle" || fail "the search found nothing"
inside node /usr/lib/trawl/container-health.mjs "$url/healthz" || fail "the health check"
! inside node /usr/lib/trawl/container-health.mjs http://127.0.0.1:1/healthz 2>/dev/null || fail "the health check of a daemon that is not there"
[ "$(podman image inspect --format '{{index .HealthCheck.Test 0}}' "$image")" = CMD ] || fail "the image has no health check"
[ "$(inside node -p 'process.getuid()')" = 10001 ] || fail "it runs as another user"
if inside node -e 'require("fs").writeFileSync("/usr/lib/trawl/x", "")' 2>/dev/null; then fail "its root can be written"; fi
for tool in git ssh ctags; do inside sh -c "$tool -V >/dev/null 2>&1 || $tool --version >/dev/null" || fail "$tool does not run"; done

say "it ends in time, and its data is intact"
podman stop --time 20 "$name" >/dev/null
[ "$(podman inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] || fail "exit code $(podman inspect --format '{{.State.ExitCode}}' "$name") after SIGTERM"
podman rm "$name" >/dev/null
start --rm --volume "$name:/var/lib/trawl" "$image" check --data /var/lib/trawl >"$work/check" 2>&1 || fail "the data is not intact: $(cat "$work/check")"
say "passed: $image, $(($(podman image inspect --format '{{.Size}}' "$image") / 1000000)) MB"
