#include "bindings.h"

#include <libdeflate.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answers.h"
#include "arguments.h"

// Added in Linux 5.14; in the headers of Debian 12, but not of older releases.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace trawl {
namespace {

// crc32(bytes)
napi_value checksum(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text bytes = given.bytes(0);
  if (!given.sound()) return misuse(env, "crc32");
  return number(env, libdeflate_crc32(0, bytes.data, bytes.length));
}

// populate(bytes)
napi_value populate(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text bytes = given.bytes(0);
  if (!given.sound()) return misuse(env, "populate");
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t from = reinterpret_cast<size_t>(bytes.data);
  size_t start = from & ~(page - 1);
  // A failure can be ignored: each page is then read when it is first used, and an error to read it is reported there.
  if (bytes.length > 0) madvise(reinterpret_cast<void*>(start), from + bytes.length - start, MADV_POPULATE_READ);
  return nullptr;
}

// releaseMemory()
napi_value release(napi_env, napi_callback_info) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return nullptr;
}

}  // namespace

void tuneAllocator() {
#ifdef __GLIBC__
  // glibc maps each block above a threshold on its own, and unmaps it when it is freed. By default, each freed block raises the
  // threshold to its size, up to 32 MiB; later blocks are then parts of arenas, which keep what is freed between others.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

bool addMemoryFunctions(napi_env env, napi_value exports) {
  return addFunction(env, exports, {"crc32", guarded<checksum>}, nullptr) &&
         addFunction(env, exports, {"populate", guarded<populate>}, nullptr) &&
         addFunction(env, exports, {"releaseMemory", guarded<release>}, nullptr);
}

}  // namespace trawl
