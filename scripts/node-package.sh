#!/usr/bin/env bash
# Downloads Node for a platform, or npm, from the npm registry, and checks its hash. node-packages.json says which release, for the image,
# for what is built and tested for another processor, and for clean roots.
#
#   scripts/node-package.sh NAME [FILE]      NAME is one in node-packages.json, FILE the archive; prints its name and release, and without
#                                            FILE does no more
set -euo pipefail

# field NAME
field() { node -p 'require(process.argv[1])[process.argv[2]][process.argv[3]]' "$here/node-packages.json" "$key" "$1"; }

here=$(realpath "$(dirname "$0")") key=$1
package=$(field package 2>/dev/null) || { echo "trawl: node-packages.json has no $key" >&2; exit 1; }
if [ $# = 1 ]; then echo "$package"; exit; fi
file=$(realpath -m "$2")
hash=$(field integrity)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
archive=$(cd "$work" && npm pack --silent --fetch-retries=1 "$package") || { echo "trawl: the npm registry $(npm config get registry) does not give $package: see whether it answers, or set another with \`npm config set registry URL\`" >&2; exit 1; }
found=sha512-$(node -p 'crypto.createHash("sha512").update(fs.readFileSync(process.argv[1])).digest("base64")' "$work/$archive")
[ "$found" = "$hash" ] || { echo "trawl: $package has the hash $found instead of $hash" >&2; exit 1; }
mkdir -p "$(dirname "$file")"
mv "$work/$archive" "$file"
echo "$package"
