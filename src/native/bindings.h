// What each folder adds to the addon; binding.cc calls all of it.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace trawl {

struct Loops;

// The functions of a kernel: over the documents of a shard, for posting lists, many literals, ranking, symbols, and
// `digestResults`.
bool addDocumentFunctions(napi_env env, napi_value kernel);
bool addPostingFunctions(napi_env env, napi_value kernel);
bool addPatternFunctions(napi_env env, napi_value kernel, const Loops* loops);
bool addRankingFunction(napi_env env, napi_value kernel, const Loops* loops);
bool addSymbolFunctions(napi_env env, napi_value kernel, const Loops* loops);
bool addDigestFunction(napi_env env, napi_value kernel);

// The functions that packs.ts calls.
bool addPackFunctions(napi_env env, napi_value exports);

bool addFileGuardFunctions(napi_env env, napi_value exports);

// What happens when the JavaScript heap of a worker thread reaches its limit.
bool addHeapLimitFunctions(napi_env env, napi_value exports);

// Checksums, reading ahead of mapped memory, and returning freed memory to the system.
bool addMemoryFunctions(napi_env env, napi_value exports);

// Lets the allocator of the process give large blocks back when they are freed. May be called more than once.
void tuneAllocator();

}  // namespace trawl
