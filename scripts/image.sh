#!/usr/bin/env bash
# Builds the container image from the files of this checkout that git knows, and writes it to build/. Needs root, buildah, podman, debootstrap, a Debian
# mirror and an npm registry, and no registry of images: the base is made by debootstrap, which verifies Debian's signatures.
#
#   scripts/image.sh OUTPUT VERSION      CCACHE=DIR is a folder of ccache to share
#   scripts/image.sh tools               only says what the machine lacks
set -euo pipefail

output=$(realpath -m "$1") version=${2:-}
here=$(realpath "$(dirname "$0")")
checkout=$(dirname "$here")
suite=trixie
architecture=$(dpkg --print-architecture)
base=localhost/trawl-base:$suite-$architecture
mirror=${MIRROR:-http://deb.debian.org/debian}
sizeMax=250000000

case $architecture in
  amd64) platform=linux-x64 ;;
  arm64) platform=linux-arm64 ;;
  *) echo "trawl: there is no image for $architecture, only for amd64 and arm64" >&2; exit 2 ;;
esac

if [ "$(id -u)" -ne 0 ]; then echo "trawl: an image is built as root: run sudo make image" >&2; exit 2; fi
for command in buildah podman debootstrap; do
  command -v $command >/dev/null || { echo "trawl: $command is not installed: apt-get install $command" >&2; exit 2; }
done
if [ "$1" = tools ]; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/context/packages" "$work/context/source" "$output"
"$here/node-package.sh" $platform "$work/context/packages/node.tgz" >/dev/null
"$here/node-package.sh" npm "$work/context/packages/npm.tgz" >/dev/null
git -C "$checkout" ls-files -z | (cd "$checkout" && tar -c --null --files-from=- --ignore-failed-read) | tar -x -C "$work/context/source"

if ! buildah inspect --type image $base >/dev/null 2>&1; then
  echo "== debootstrap $suite"
  debootstrap --variant=minbase --include=ca-certificates $suite "$work/base" "$mirror" >"$work/debootstrap.log" || { tail -5 "$work/debootstrap.log"; exit 1; }
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$work/base" / >/dev/null
  buildah commit --quiet "$container" $base >/dev/null
  buildah rm "$container" >/dev/null
fi

# How this machine reaches its registry.
settings=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY npm_config_registry NODE_EXTRA_CA_CERTS SSL_CERT_FILE; do
  if [ -n "${!name:-}" ]; then settings+=(--build-arg "$name=${!name}"); fi
done
for file in "${NODE_EXTRA_CA_CERTS:-}" "${SSL_CERT_FILE:-}" "$(npm config get cafile)"; do
  if [ -f "$file" ]; then settings+=(--volume "$(realpath "$file"):$file:ro"); fi
done
: >"$work/npmrc"
if [ -f ~/.npmrc ]; then cat ~/.npmrc >"$work/npmrc"; fi
if [ -n "${CCACHE:-}" ]; then settings+=(--volume "$(realpath "$CCACHE"):/root/.cache/ccache"); fi

# Docker's format of the manifest, because OCI's has no health check (docs/decisions/0031-the-container-image.md).
echo "== buildah build"
buildah build --format docker --layers --isolation chroot --network host --secret "id=npmrc,src=$work/npmrc" --build-arg BASE=$base \
  "${settings[@]}" --file "$here/package/Containerfile" --tag "localhost/trawl:$version" --tag localhost/trawl:latest "$work/context"

size=$(buildah inspect --type image --format '{{.FromImageID}}' "localhost/trawl:$version" | xargs -I{} podman image inspect --format '{{.Size}}' {})
[ "$size" -le $sizeMax ] || { echo "failed: the image has $size bytes, more than $sizeMax" >&2; exit 1; }
archive=$output/trawl-$version-image-$architecture.tar
rm -f "$archive" "$archive.gz"
buildah push --quiet "localhost/trawl:$version" "docker-archive:$archive:localhost/trawl:$version"
gzip -n "$archive"
echo "$archive.gz $((size / 1000000)) MB, $(($(stat -c %s "$archive.gz") / 1000000)) MB compressed"
