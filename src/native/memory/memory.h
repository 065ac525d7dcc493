// Checksums, reading ahead of mapped memory, and returning freed memory to the system.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

// Lets the allocator of the process give large blocks back when they are freed. May be called more than once.
void tuneAllocator();

bool addMemoryFunctions(napi_env env, napi_value exports);

}  // namespace trawl
