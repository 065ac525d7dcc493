#include "bindings.h"

#include <atomic>
#include <cstdint>

#include "answers.h"
#include "arguments.h"

// Node's header defines it, too.
#undef NAPI_VERSION
#include <node.h>
#include <v8.h>

namespace trawl {
namespace {

// Node's own callback lets the heap of a worker grow by 16 MiB while the thread is being terminated. If an allocation
// does not fit there, for example when a large Map doubles its table, V8 ends the process. V8 never allocates more than
// this at once.
constexpr size_t allowanceBytes = size_t{1} << 30;

struct Guard {
  v8::Isolate* isolate;
  node::Environment* environment;
  std::atomic<uint32_t>* reached;
};

size_t endThread(void* data, size_t limitBytes, size_t) {
  Guard* guard = static_cast<Guard*>(data);
  guard->reached->store(1);
  node::Stop(guard->environment);
  return limitBytes + allowanceBytes;
}

void forget(void* data) {
  Guard* guard = static_cast<Guard*>(data);
  guard->isolate->RemoveNearHeapLimitCallback(endThread, 0);
  delete guard;
}

// When the heap of this thread reaches its limit, the first word is set and the thread ends.
napi_value guardHeap(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Words reached = given.words(0);
  given.need(reached.length > 0);
  if (!given.sound()) return misuse(env, "guardHeap");
  v8::Isolate* isolate = v8::Isolate::GetCurrent();
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a word is one");
  auto* guard = new Guard{isolate, node::GetCurrentEnvironment(isolate->GetCurrentContext()), reinterpret_cast<std::atomic<uint32_t>*>(reached.data)};
  if (napi_add_env_cleanup_hook(env, forget, guard) != napi_ok) {
    delete guard;
    return nullptr;
  }
  isolate->AddNearHeapLimitCallback(endThread, guard);
  return nullptr;
}

}  // namespace

bool addHeapLimitFunctions(napi_env env, napi_value exports) {
  const Export guard = {"guardHeap", guarded<guardHeap>};
  return addFunction(env, exports, guard, nullptr);
}

}  // namespace trawl
