#!/usr/bin/env bash
# Compiles the binding of LMDB from the sources in its package, with one change. lmdb 3.5.6 prints the error of a page that it cannot write
# into 100 bytes, which are too few for it: a full disk damaged the heap of the daemon. What was compiled is loaded in place of the binary
# that comes with the package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../node_modules/lmdb"
source=dependencies/lmdb/libraries/liblmdb/mdb.c
sed -i 's/last_error = malloc(100);/last_error = malloc(1024);/' "$source"
if [ "$(grep -c 'last_error = malloc(1024);' "$source")" -ne 12 ]; then
  echo "lmdb is another release than scripts/build-lmdb.sh was written for: see whether its change is still needed" >&2
  exit 1
fi
if ! output="$(../.bin/node-gyp rebuild --loglevel=error 2>&1)"; then
  echo "$output" >&2
  exit 1
fi
