#!/usr/bin/env bash
# Makes four changes to the sources of LMDB 3.5.6 and its binding, which scripts/compile-native.mjs then compiles. What was compiled is
# loaded instead of the binary that comes with the package.
#
#   scripts/patch-lmdb.sh [TREE]      the folder with node_modules, by default this checkout
#
# 1. The error of a page that cannot be written is printed into 100 bytes, which are too few for it: a full disk damaged the heap.
# 2. V8 counts the size of a mapped value as memory of the heap, from which the binding subtracts it again. When a thread ends, V8
#    subtracts it a second time, and Node 24 aborts because the sum is negative: it has to be added before.
# 3. The binding reads only a value above 16 MiB as a view over the map, and copies others for each read in each thread. Here a value of
#    32 KiB or more is a view, so that all threads read the symbols of a shard in place.
# 4. When a store cannot be opened, for example for lack of file descriptors, the binding deletes an object that it then uses and deletes
#    again, and the process ends with SIGSEGV.
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}/node_modules/lmdb"
# Fails unless so many lines of the source match: the package is then another release.
need() { # COUNT PATTERN CHANGE
  if [ "$(grep -cE "$2" "$source")" -ne "$1" ]; then
    echo "lmdb is another release than scripts/patch-lmdb.sh was written for: see whether its $3 change is still needed" >&2
    exit 1
  fi
}
source=dependencies/lmdb/libraries/liblmdb/mdb.c
sed -i 's/last_error = malloc(100);/last_error = malloc(1024);/' "$source"
need 12 'last_error = malloc\(1024\);' first
source=src/env.cpp
if ! grep -q excludeFromHeap "$source"; then
  sed -i 's/napi_adjust_external_memory(env, -(int64_t) size, &result);/excludeFromHeap(env, size);/' "$source"
  sed -i '/^NAPI_FUNCTION(getSharedBuffer)/i \
static thread_local int64_t excludedBytes = 0;\
static void includeAgain(void* env) {\
	int64_t result;\
	napi_adjust_external_memory((napi_env) env, excludedBytes, \&result);\
	excludedBytes = 0;\
}\
static void excludeFromHeap(napi_env env, size_t size) {\
	int64_t result;\
	if (excludedBytes == 0) napi_add_env_cleanup_hook(env, includeAgain, env);\
	excludedBytes += size;\
	napi_adjust_external_memory(env, -(int64_t) size, \&result);\
}' "$source"
fi
need 2 'excludeFromHeap\(' second
sed -i 's/^\t\tdelete extended_env;$/\t\tif (rc == EXISTING_ENV_FOUND) delete extended_env;/' "$source"
need 1 'if \(rc == EXISTING_ENV_FOUND\) delete extended_env;' fourth
source=src/dbi.cpp
sed -i 's/fits = valToBinaryFast(data, this); \/\/ it fits/fits = data.mv_size < 0x8000 \&\& valToBinaryFast(data, this); \/\/ it fits/
  s/result == 2 || data.mv_size < SHARED_BUFFER_THRESHOLD) {\/\/ result/result == 2 || data.mv_size < 0x8000) {\/\/ result/' "$source"
need 2 'data.mv_size < 0x8000( |\))' third
