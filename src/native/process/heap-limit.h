// What happens when the JavaScript heap of a worker thread reaches its limit.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

bool addHeapLimitFunctions(napi_env env, napi_value exports);

}  // namespace trawl
