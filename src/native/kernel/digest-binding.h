#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

// Adds `digestResults` to an object of kernel functions.
bool addDigestFunction(napi_env env, napi_value kernel);

}  // namespace trawl
