#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include "loops.h"

namespace trawl {

bool addRankingFunction(napi_env env, napi_value kernel, const Loops* loops);

}  // namespace trawl
