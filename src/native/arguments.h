// Parses the arguments of a call. The first invalid one makes the whole call throw a TypeError; the accessors then
// return empty values, so a function can read all of its arguments and check `sound` once.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include <cstddef>
#include <cstdint>

#include <memory>
#include <vector>

#include "bytes.h"
#include "stop-flags.h"

namespace trawl {

struct Words {
  uint32_t* data;
  size_t length;
};

// What JavaScript holds of the addon: the first word tells one kind from another.
struct External {
  const uint32_t kind;
};

// Returns an object of JavaScript that owns this one, which is deleted when it is no longer referenced; null if it has no memory.
template <class T>
napi_value createExternal(napi_env env, std::unique_ptr<T> owned) {
  napi_value result = nullptr;
  const auto end = [](napi_env, void* data, void*) { delete static_cast<T*>(static_cast<External*>(data)); };
  if (napi_create_external(env, static_cast<External*>(owned.get()), end, nullptr, &result) == napi_ok) owned.release();
  return result;
}

class Arguments {
 public:
  static constexpr size_t countMax = 48;

  Arguments(napi_env env, napi_callback_info info) : env_(env) {
    size_t count = countMax;
    sound_ = napi_get_cb_info(env, info, &count, values_, nullptr, &data_) == napi_ok;
  }

  // The data with which the function was created.
  void* data() const { return data_; }

  Text bytes(size_t index) { return bytesIn(values_[index]); }

  Text bytesIn(napi_value value) {
    Array array = typedArray(value, napi_uint8_array);
    return {static_cast<uint8_t*>(array.data), array.length};
  }

  Words words(size_t index) { return wordsIn(values_[index]); }

  Words wordsIn(napi_value value) {
    Array array = typedArray(value, napi_uint32_array);
    return {static_cast<uint32_t*>(array.data), array.length};
  }

  napi_value* values() { return values_; }

  // Of an array; undefined past its end.
  napi_value element(size_t index, uint32_t at) {
    napi_value found = nullptr;
    need(napi_get_element(env_, values_[index], at, &found) == napi_ok);
    return found;
  }

  size_t elementCount(size_t index) {
    uint32_t count = 0;
    need(napi_get_array_length(env_, values_[index], &count) == napi_ok);
    return count;
  }

  bool isUndefined(napi_value value) {
    napi_valuetype type;
    return napi_typeof(env_, value, &type) == napi_ok && type == napi_undefined;
  }

  struct Shorts {
    const uint16_t* data;
    size_t length;
  };

  Shorts shorts(size_t index) {
    Array array = typedArray(values_[index], napi_uint16_array);
    return {static_cast<const uint16_t*>(array.data), array.length};
  }

  struct Doubles {
    const double* data;
    size_t length;
  };

  Doubles doubles(size_t index) {
    Array array = typedArray(values_[index], napi_float64_array);
    return {static_cast<const double*>(array.data), array.length};
  }

  // An array of Int32Arrays, of each of which the first word is checked.
  StopFlags stopFlags(size_t index) {
    StopFlags flags;
    uint32_t count = 0;
    need(napi_get_array_length(env_, values_[index], &count) == napi_ok);
    for (uint32_t i = 0; i < count && i <= StopFlags::countMax; i++) {
      napi_value element = nullptr;
      napi_get_element(env_, values_[index], i, &element);
      Array array = typedArray(element, napi_int32_array);
      need(array.length > 0 && flags.add(static_cast<const int32_t*>(array.data)));
    }
    return flags;
  }

  uint32_t number(size_t index) {
    double value = -1;
    bool fits = napi_get_value_double(env_, values_[index], &value) == napi_ok && value >= 0 && value <= UINT32_MAX &&
                value == static_cast<double>(static_cast<uint32_t>(value));
    need(fits);
    return fits ? static_cast<uint32_t>(value) : 0;
  }

  bool flag(size_t index) {
    bool value = false;
    need(napi_get_value_bool(env_, values_[index], &value) == napi_ok);
    return value;
  }

  // A value created by `createExternal`.
  template <class T>
  T* external(size_t index) {
    return externalIn<T>(values_[index]);
  }

  template <class T>
  T* externalIn(napi_value given) {
    void* value = nullptr;
    napi_valuetype type;
    bool fits = napi_typeof(env_, given, &type) == napi_ok && type == napi_external &&
                napi_get_value_external(env_, given, &value) == napi_ok &&
                static_cast<External*>(value)->kind == T::externalKind;
    need(fits);
    return fits ? static_cast<T*>(static_cast<External*>(value)) : nullptr;
  }

  void need(bool condition) { sound_ = sound_ && condition; }

  bool sound() const { return sound_; }

 private:
  struct Array {
    void* data;
    size_t length;
  };

  // Positions are 32 bits wide, so a longer array is rejected. So is a null value.
  Array typedArray(napi_value value, napi_typedarray_type wanted) {
    napi_typedarray_type type;
    size_t length;
    void* data;
    bool fits = napi_get_typedarray_info(env_, value, &type, &length, &data, nullptr, nullptr) == napi_ok &&
                type == wanted && length <= UINT32_MAX;
    need(fits);
    if (!fits) return {nullptr, 0};
    // An empty array may have no address, and memcpy and memchr must have one, even for no bytes.
    alignas(8) static uint64_t nothing;
    return {data == nullptr ? &nothing : data, length};
  }

  napi_env env_;
  napi_value values_[countMax];
  void* data_ = nullptr;
  bool sound_;
};

// Parses `count` strings, each terminated by a zero byte, as pointers followed by a null pointer; false if there are
// fewer.
inline bool takeStrings(Text text, size_t* at, size_t count, std::vector<char*>* strings) {
  for (size_t taken = 0; taken < count; taken++) {
    size_t start = *at;
    while (*at < text.length && text.data[*at] != 0) ++*at;
    if (*at == text.length) return false;
    strings->push_back(const_cast<char*>(reinterpret_cast<const char*>(text.data + start)));
    ++*at;
  }
  strings->push_back(nullptr);
  return true;
}

}  // namespace trawl
