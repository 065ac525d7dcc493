#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

bool addFileGuardFunctions(napi_env env, napi_value exports);

}  // namespace trawl
