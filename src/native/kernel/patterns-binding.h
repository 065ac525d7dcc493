#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

// Adds the functions of patterns.h to a kernel.
bool addPatternFunctions(napi_env env, napi_value kernel);

}  // namespace trawl
