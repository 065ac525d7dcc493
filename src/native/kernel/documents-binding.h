#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

// Adds the functions over the documents of a shard to a kernel.
bool addDocumentFunctions(napi_env env, napi_value kernel);

}  // namespace trawl
