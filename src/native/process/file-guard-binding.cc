#include "bindings.h"

#include <vector>

#include "answers.h"
#include "arguments.h"
#include "file-guard.h"

namespace trawl {
namespace {

// The path is terminated by a zero byte. Returns the number of the file plus one, or 0.
napi_value guardMapped(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text path = given.bytes(0);
  size_t at = 0;
  std::vector<char*> paths;
  given.need(takeStrings(path, &at, 1, &paths));
  if (!given.sound()) return misuse(env, "guardFile");
  return number(env, static_cast<size_t>(guardFile(paths[0]) + 1));
}

napi_value describe(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  uint32_t file = given.number(0);
  Words out = given.words(1);
  given.need(file > 0 && file <= INT32_MAX && out.length >= 4);
  if (!given.sound()) return misuse(env, "stateOfFile");
  FileState state = stateOfFile(static_cast<int>(file) - 1);
  const uint32_t words[] = {state.faults, state.headFaults, state.isShorter, state.isGone};
  for (size_t i = 0; i < 4; i++) out.data[i] = words[i];
  return nullptr;
}

napi_value faults(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  uint32_t file = given.number(0);
  bool inHead = given.flag(1);
  given.need(file > 0 && file <= INT32_MAX);
  if (!given.sound()) return misuse(env, "faultsOfFile");
  return number(env, faultsOfFile(static_cast<int>(file) - 1, inHead));
}

napi_value packFaultCount(napi_env env, napi_callback_info) { return number(env, packFaults()); }

}  // namespace

bool addFileGuardFunctions(napi_env env, napi_value exports) {
  const Export functions[] = {
      {"guardFile", guarded<guardMapped>}, {"stateOfFile", guarded<describe>}, {"faultsOfFile", guarded<faults>}, {"packFaults", guarded<packFaultCount>},
  };
  for (const Export& entry : functions) {
    if (!addFunction(env, exports, entry, nullptr)) return false;
  }
  return true;
}

}  // namespace trawl
