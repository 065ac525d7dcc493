// Return values and errors of the addon's functions, and their export.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include <cstdint>
#include <new>

namespace trawl {

inline napi_value misuse(napi_env env, const char* name) {
  char message[96] = "arguments of the wrong type or out of range: ";
  size_t at = 0;
  while (message[at] != 0) at++;
  while (*name != 0 && at + 1 < sizeof message) message[at++] = *name++;
  napi_throw_type_error(env, nullptr, message);
  return nullptr;
}

inline napi_value outOfMemory(napi_env env, const char* what) {
  napi_throw_error(env, "ERR_MEMORY_ALLOCATION_FAILED", what);
  return nullptr;
}

inline napi_value number(napi_env env, size_t value) {
  napi_value result = nullptr;
  napi_create_uint32(env, static_cast<uint32_t>(value), &result);
  return result;
}

inline napi_value boolean(napi_env env, bool value) {
  napi_value result = nullptr;
  napi_get_boolean(env, value, &result);
  return result;
}

// Wraps a function for calls from JavaScript: a C++ exception (std::bad_alloc, std::length_error) becomes a JavaScript
// error. An exception that escaped from the addon would end the process.
template <napi_callback function>
napi_value guarded(napi_env env, napi_callback_info info) noexcept {
  try {
    return function(env, info);
  } catch (...) {
    return outOfMemory(env, "the system has no memory for a call of the native kernel");
  }
}

struct Export {
  const char* name;
  napi_callback function;
};

inline bool addFunction(napi_env env, napi_value object, const Export& entry, const void* data) {
  napi_value function;
  return napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.function, const_cast<void*>(data), &function) == napi_ok &&
         napi_set_named_property(env, object, entry.name, function) == napi_ok;
}

}  // namespace trawl
