#!/usr/bin/env bash
# Makes the files of a release in build/, with their checksums (docs/internals/releasing.md). The tag is set by hand, afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(node -p 'require("./package.json").version')
refuse() { echo "trawl: $*" >&2; exit 2; }

[ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed: commit them, or remove them"
grep -q "^## $version\\( \\|\$\\)" CHANGELOG.md || refuse "CHANGELOG.md has no heading for $version"
if tagged=$(git rev-parse -q --verify "refs/tags/v$version^{commit}"); then
  [ "$tagged" = "$(git rev-parse HEAD)" ] || refuse "v$version is another commit: set the next version in package.json"
fi

# First, because what is missing is known before minutes of compiling.
scripts/image.sh tools
architectures=$(dpkg --print-architecture)
if [ "$architectures" = amd64 ]; then architectures="amd64 arm64"; fi
for one in $architectures; do make package-tools ARCH="$one"; done

rm -rf build/release
mkdir -p build/release
for one in $architectures; do make deb ARCH="$one"; done
mv build/trawl_"$version"_*.deb build/trawl-"$version"-linux-*.tar.xz build/trawl-"$version"-linux-*.cdx.json build/release/
make client
(cd clients/trawl-client && npm pack --silent --pack-destination ../../build/release >/dev/null)
scripts/image.sh build/release "$version"
(cd build/release && sha256sum -- * >SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
ls -l build/release
