#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

// The functions of a kernel that build and read posting lists.
bool addPostingFunctions(napi_env env, napi_value kernel);

}  // namespace trawl
