#include "bindings.h"

#include <cstring>
#include <memory>
#include <vector>

#include "answers.h"
#include "arguments.h"
#include "change-filter.h"
#include "file-guard.h"
#include "packs.h"
#include "tree-diff.h"

namespace trawl {
namespace {

// The object returned by `openPacks`; empty once it is closed.
struct OpenPacks : External {
  static constexpr uint32_t externalKind = 1;

  OpenPacks() : External{externalKind} {}

  std::unique_ptr<Packs> packs;
  // Destroyed before the packs, to whose budget it is charged.
  std::unique_ptr<TreeDiff> diff;
};

// The strings are the folder of the objects, and the index and the pack of each pack, alternating.
napi_value openPacks(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  uint32_t packCount = given.number(1), oidBytes = given.number(2), memoryBytesMax = given.number(3);
  size_t at = 0;
  std::vector<char*> files;
  given.need(oidBytes == 20 || oidBytes == 32);
  given.need(takeStrings(text, &at, 1 + 2 * static_cast<size_t>(packCount), &files));
  if (!given.sound()) return misuse(env, "openPacks");
  auto open = std::make_unique<OpenPacks>();
  open->packs = std::make_unique<Packs>(files[0], files.data() + 1, packCount, oidBytes, memoryBytesMax);
  open->diff = std::make_unique<TreeDiff>(*open->packs);
  return createExternal(env, std::move(open));
}

napi_value closePacks(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  OpenPacks* open = given.external<OpenPacks>(0);
  if (!given.sound()) return misuse(env, "closePacks");
  open->diff.reset();
  open->packs.reset();
  return nullptr;
}

// Null if they are closed.
OpenPacks* openOf(Arguments* given) {
  OpenPacks* open = given->external<OpenPacks>(0);
  given->need(open != nullptr && open->packs != nullptr);
  return given->sound() ? open : nullptr;
}

// Writes kind and size of each object; 0 and 0 if it is not found. False if stopped.
napi_value describeObjects(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  OpenPacks* open = openOf(&given);
  Text oids = given.bytes(1);
  Words out = given.words(2);
  StopFlags stop = given.stopFlags(3);
  const size_t oidBytes = open == nullptr ? 1 : open->packs->oidBytes();
  given.need(oids.length % oidBytes == 0 && out.length >= oids.length / oidBytes * 2);
  if (!given.sound()) return misuse(env, "describeObjects");
  const uint32_t faults = packFaults();
  for (size_t i = 0; i * oidBytes < oids.length; i++) {
    if (stop.areSet()) return boolean(env, false);
    ObjectKind kind = ObjectKind::none;
    uint64_t size = 0;
    bool isFound = open->packs->describe(oids.data + i * oidBytes, &kind, &size) && packFaults() == faults;
    out.data[2 * i] = isFound ? static_cast<uint32_t>(kind) : 0;
    out.data[2 * i + 1] = isFound ? static_cast<uint32_t>(size) : 0;
  }
  return boolean(env, true);
}

// Unpacks an object of the size reported before; returns the outcome as a `Found`.
napi_value readObject(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  OpenPacks* open = openOf(&given);
  Text oid = given.bytes(1);
  Text out = given.bytes(2);
  StopFlags stop = given.stopFlags(3);
  given.need(open != nullptr && oid.length == open->packs->oidBytes());
  if (!given.sound()) return misuse(env, "readObject");
  const uint32_t faults = packFaults();
  Found found = open->packs->read(oid.data, const_cast<uint8_t*>(out.data), out.length, stop);
  if (found == Found::yes && packFaults() != faults) found = Found::no;
  return number(env, static_cast<size_t>(found));
}

// Writes the kind of each text, and to `state` the number of texts and of bytes. False if stopped.
napi_value readTexts(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  OpenPacks* open = openOf(&given);
  Text oids = given.bytes(1);
  Words sizes = given.words(2);
  Text out = given.bytes(3);
  uint32_t pauseBytes = given.number(4);
  Words kinds = given.words(5), state = given.words(6);
  StopFlags stop = given.stopFlags(7);
  const size_t oidBytes = open == nullptr ? 1 : open->packs->oidBytes();
  given.need(oids.length == sizes.length * oidBytes && kinds.length >= sizes.length && state.length >= 2);
  if (!given.sound()) return misuse(env, "readTexts");
  Packs::Texts done = open->packs->readTexts(oids.data, sizes.data, sizes.length, const_cast<uint8_t*>(out.data), out.length, pauseBytes,
                                             kinds.data, stop);
  state.data[0] = static_cast<uint32_t>(done.count);
  state.data[1] = static_cast<uint32_t>(done.bytes);
  return boolean(env, !done.isStopped);
}

// Of two trees, given as two consecutive oids. Returns a `Found`.
napi_value beginDiff(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  OpenPacks* open = openOf(&given);
  Text trees = given.bytes(1);
  StopFlags stop = given.stopFlags(2);
  given.need(open != nullptr && trees.length == 2 * open->packs->oidBytes());
  if (!given.sound()) return misuse(env, "beginDiff");
  return number(env, static_cast<size_t>(open->diff->begin(trees.data, trees.data + open->packs->oidBytes(), stop)));
}

// A verdict for each commit; the literals are strings. False if stopped.
napi_value filterChanges(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  OpenPacks* open = openOf(&given);
  Text commits = given.bytes(1), literals = given.bytes(2);
  uint32_t literalCount = given.number(3);
  bool fold = given.flag(4);
  Text verdicts = given.bytes(5);
  StopFlags stop = given.stopFlags(6);
  const size_t oidBytes = open == nullptr ? 1 : open->packs->oidBytes();
  std::vector<char*> strings;
  std::vector<Text> texts;
  size_t at = 0;
  given.need(commits.length % oidBytes == 0 && verdicts.length >= commits.length / oidBytes);
  given.need(takeStrings(literals, &at, literalCount, &strings));
  for (size_t i = 0; given.sound() && i < literalCount; i++) {
    texts.push_back({reinterpret_cast<const uint8_t*>(strings[i]), strlen(strings[i])});
    given.need(texts.back().length > 0);
  }
  if (!given.sound()) return misuse(env, "filterChanges");
  ChangeFilter filter(*open->packs, fastestLoops(), texts, fold);
  const uint32_t faults = packFaults();
  for (size_t i = 0; i * oidBytes < commits.length; i++) {
    ChangeFilter::Verdict verdict;
    if (!filter.judge(commits.data + i * oidBytes, &verdict, stop)) return boolean(env, false);
    if (packFaults() != faults) verdict = ChangeFilter::Verdict::candidate;
    const_cast<uint8_t*>(verdicts.data)[i] = static_cast<uint8_t>(verdict);
  }
  return boolean(env, true);
}

// Writes the number of bytes, and a `Progress`.
napi_value nextDiff(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  OpenPacks* open = openOf(&given);
  Text out = given.bytes(1);
  Words state = given.words(2);
  StopFlags stop = given.stopFlags(3);
  given.need(state.length >= 2);
  if (!given.sound()) return misuse(env, "nextDiff");
  size_t written = 0;
  const uint32_t faults = packFaults();
  TreeDiff::Progress progress = open->diff->next(const_cast<uint8_t*>(out.data), out.length, &written, stop);
  if (packFaults() != faults && progress != TreeDiff::Progress::stopped) progress = TreeDiff::Progress::failed;
  state.data[0] = static_cast<uint32_t>(written);
  state.data[1] = static_cast<uint32_t>(progress);
  return nullptr;
}

}  // namespace

bool addPackFunctions(napi_env env, napi_value exports) {
  const Export functions[] = {
      {"openPacks", guarded<openPacks>}, {"closePacks", guarded<closePacks>}, {"describeObjects", guarded<describeObjects>},
      {"readObject", guarded<readObject>}, {"readTexts", guarded<readTexts>}, {"beginDiff", guarded<beginDiff>}, {"nextDiff", guarded<nextDiff>},
      {"filterChanges", guarded<filterChanges>},
  };
  for (const Export& entry : functions) {
    if (!addFunction(env, exports, entry, nullptr)) return false;
  }
  return true;
}

}  // namespace trawl
