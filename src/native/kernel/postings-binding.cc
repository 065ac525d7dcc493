#include "bindings.h"

#include "answers.h"
#include "arguments.h"
#include "pages.h"
#include "postings.h"

namespace trawl {
namespace {

napi_value noTables(napi_env env) { return outOfMemory(env, "no memory for tables of trigrams"); }

// Adds a typed array of `length` elements to `object` and points `data` at its bytes.
bool addArray(napi_env env, napi_value object, const char* name, napi_typedarray_type type, size_t length,
              void** data) {
  napi_value buffer, array;
  size_t elementSize = type == napi_uint32_array ? sizeof(uint32_t) : 1;
  return napi_create_arraybuffer(env, length * elementSize, data, &buffer) == napi_ok &&
         napi_create_typedarray(env, type, length, buffer, 0, &array) == napi_ok &&
         napi_set_named_property(env, object, name, array) == napi_ok;
}

napi_value buildPostings(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  Words units = given.words(1);
  size_t unitCount = given.number(2);
  given.need(2 * unitCount <= units.length);
  // The tables are allocated by the length of all units.
  size_t left = text.length + overlapBytes * unitCount;
  for (size_t i = 0; given.sound() && i < unitCount; i++) {
    const size_t from = units.data[2 * i], to = units.data[2 * i + 1];
    given.need(from <= to && to <= text.length && to - from <= left);
    left -= to - from;
  }
  if (!given.sound()) return misuse(env, "buildPostings");
  PostingsBuilder builder;
  if (!builder.gather(text, units.data, unitCount) || builder.byteCount() > UINT32_MAX) return noTables(env);
  napi_value result;
  void *keys, *offsets, *bytes;
  bool made = napi_create_object(env, &result) == napi_ok &&
              addArray(env, result, "keys", napi_uint32_array, builder.keyCount(), &keys) &&
              addArray(env, result, "offsets", napi_uint32_array, builder.keyCount() + 1, &offsets) &&
              addArray(env, result, "bytes", napi_uint8_array, builder.byteCount(), &bytes);
  if (!made) return noTables(env);
  preferHugePages(bytes, builder.byteCount());
  builder.write(static_cast<uint32_t*>(keys), static_cast<uint32_t*>(offsets), static_cast<uint8_t*>(bytes));
  return result;
}

napi_value distinctTrigrams(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  size_t from = given.number(1), to = given.number(2), limit = given.number(3);
  given.need(from <= to && to <= text.length);
  if (!given.sound()) return misuse(env, "distinctTrigrams");
  size_t count = distinctTrigrams(text, from, to, limit);
  return count == noRoom ? noTables(env) : number(env, count);
}

napi_value decodePostings(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text postings = given.bytes(0);
  size_t from = given.number(1), to = given.number(2);
  Words out = given.words(3);
  given.need(from <= to && to <= postings.length);
  if (!given.sound()) return misuse(env, "decodePostings");
  size_t count = decodePostings(postings, from, to, out.data, out.length);
  return count == noRoom ? misuse(env, "decodePostings: out") : number(env, count);
}

napi_value intersectPostings(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text postings = given.bytes(0);
  size_t from = given.number(1), to = given.number(2);
  Words units = given.words(3);
  size_t count = given.number(4);
  given.need(from <= to && to <= postings.length && count <= units.length);
  if (!given.sound()) return misuse(env, "intersectPostings");
  return number(env, intersectPostings(postings, from, to, units.data, count));
}

napi_value findLists(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Words keys = given.words(0), starts = given.words(1);
  Text literal = given.bytes(2);
  Words lists = given.words(3);
  given.need(starts.length == keys.length + 1 && (literal.length < 3 || lists.length >= literal.length - 2));
  if (!given.sound()) return misuse(env, "findLists");
  return number(env, findLists({keys.data, starts.data, keys.length}, literal, lists.data));
}

napi_value unitsOfLists(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text postings = given.bytes(0);
  Words starts = given.words(1), lists = given.words(2);
  size_t listCount = given.number(3);
  Words units = given.words(4);
  given.need(listCount <= lists.length);
  if (!given.sound()) return misuse(env, "unitsOfLists");
  size_t count =
      unitsOfLists(postings, starts.data, starts.length, lists.data, listCount, units.data, units.length);
  return count == noRoom ? misuse(env, "unitsOfLists: lists or units") : number(env, count);
}

napi_value contentsOfUnits(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Words units = given.words(0);
  size_t unitCount = given.number(1);
  Words firstUnits = given.words(2), out = given.words(3);
  given.need(unitCount <= units.length && firstUnits.length > 0);
  if (!given.sound()) return misuse(env, "contentsOfUnits");
  size_t count = trawl::contentsOfUnits(units.data, unitCount, firstUnits.data, firstUnits.length - 1, out.data, out.length);
  return count == noRoom ? misuse(env, "contentsOfUnits: out") : number(env, count);
}

}  // namespace

bool addPostingFunctions(napi_env env, napi_value kernel) {
  return addFunction(env, kernel, {"buildPostings", guarded<buildPostings>}, nullptr) &&
         addFunction(env, kernel, {"distinctTrigrams", guarded<distinctTrigrams>}, nullptr) &&
         addFunction(env, kernel, {"decodePostings", guarded<decodePostings>}, nullptr) &&
         addFunction(env, kernel, {"intersectPostings", guarded<intersectPostings>}, nullptr) &&
         addFunction(env, kernel, {"findLists", guarded<findLists>}, nullptr) &&
         addFunction(env, kernel, {"unitsOfLists", guarded<unitsOfLists>}, nullptr) &&
         addFunction(env, kernel, {"contentsOfUnits", guarded<contentsOfUnits>}, nullptr);
}

}  // namespace trawl
