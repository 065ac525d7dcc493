// Checksums, and reading ahead of memory that is mapped from a file.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

bool addMemoryFunctions(napi_env env, napi_value exports);

}  // namespace trawl
