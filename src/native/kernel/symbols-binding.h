#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

struct Loops;

// The functions of a kernel that read symbols.
bool addSymbolFunctions(napi_env env, napi_value kernel, const Loops* loops);

}  // namespace trawl
