#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

struct Loops;

// Adds the functions of patterns.h to a kernel.
bool addPatternFunctions(napi_env env, napi_value kernel, const Loops* loops);

}  // namespace trawl
