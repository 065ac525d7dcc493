#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

// The functions that packs.ts calls.
bool addPackFunctions(napi_env env, napi_value exports);

}  // namespace trawl
