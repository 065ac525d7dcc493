// The functions that TypeScript calls. Each one parses its arguments, checks that every range lies inside its array,
// and passes plain pointers to the loops of its kernel.
#include "answers.h"
#include "arguments.h"
#include "automaton.h"
#include "bindings.h"
#include "file-guard.h"
#include "loops.h"
#include "process.h"
#include "request-filter.h"
#include "socket.h"

#include <cstring>
#include <vector>

namespace trawl {
namespace {

const Loops& loopsFor(const Arguments& given) { return *static_cast<const Loops*>(given.data()); }

bool isLowered(Text needle) {
  for (size_t i = 0; i < needle.length; i++) {
    if (needle.data[i] >= 'A' && needle.data[i] <= 'Z') return false;
  }
  return true;
}

// scan(text, ranges, rangeCount, needle, foldAscii, workMax, rows, cursor); scanLines has a delimiter before `workMax`.
napi_value scanWith(napi_env env, napi_callback_info info, bool byLine) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  Words ranges = given.words(1);
  size_t rangeCount = given.number(2);
  Text needle = given.bytes(3);
  bool fold = given.flag(4);
  size_t index = 5;
  uint32_t delimiter = byLine ? given.number(index++) : 0;
  size_t workMax = given.number(index++);
  Words rows = given.words(index++);
  Words cursor = given.words(index);
  given.need(rangeCount * (byLine ? 4 : 3) <= ranges.length && needle.length > 0 && delimiter < 256);
  given.need(cursor.length >= 4 && workMax > 0 && (!fold || isLowered(needle)));
  if (!given.sound()) return misuse(env, byLine ? "scanLines" : "scan");
  ScanJob job = {text, ranges.data, rangeCount, makeNeedle(needle.data, needle.length, fold),
                 static_cast<uint8_t>(delimiter), rows.data, rows.length / 2, workMax, cursor.data};
  Outcome outcome = byLine ? loopsFor(given).scanLines(job) : loopsFor(given).scan(job);
  if (outcome == Outcome::misuse) return misuse(env, byLine ? "scanLines: ranges" : "scan: ranges");
  return boolean(env, outcome == Outcome::done);
}

napi_value scan(napi_env env, napi_callback_info info) { return scanWith(env, info, false); }
napi_value scanLines(napi_env env, napi_callback_info info) { return scanWith(env, info, true); }

// scanAutomaton(text, ranges, rangeCount, table, byLine, workMax, rows, cursor)
napi_value scanAutomaton(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  Words ranges = given.words(1);
  size_t rangeCount = given.number(2);
  Arguments::Shorts table = given.shorts(3);
  bool byLine = given.flag(4);
  size_t workMax = given.number(5);
  Words rows = given.words(6);
  Words cursor = given.words(7);
  const size_t stateCount = table.length / 256;
  given.need(rangeCount * 4 <= ranges.length && cursor.length >= 4 && workMax > 0);
  given.need(table.length % 256 == 0 && isAutomaton(table.data, stateCount));
  if (!given.sound()) return misuse(env, "scanAutomaton");
  AutomatonJob job = {text, ranges.data, rangeCount, table.data, stateCount, byLine, rows.data, rows.length / 2, workMax, cursor.data};
  Outcome outcome = trawl::scanAutomaton(job);
  if (outcome == Outcome::misuse) return misuse(env, "scanAutomaton: ranges");
  return boolean(env, outcome == Outcome::done);
}

napi_value countNewlines(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  size_t from = given.number(1), to = given.number(2);
  given.need(from <= to && to <= text.length);
  if (!given.sound()) return misuse(env, "countNewlines");
  return number(env, loopsFor(given).countNewlines(text, from, to));
}

napi_value newlineTable(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  size_t step = given.number(1);
  Words out = given.words(2);
  given.need(out.length == 0 || (out.length - 1) * step <= text.length);
  if (!given.sound()) return misuse(env, "newlineTable");
  size_t newlines = 0;
  for (size_t i = 0; i < out.length; i++) {
    out.data[i] = static_cast<uint32_t>(newlines);
    if (i + 1 < out.length) newlines += loopsFor(given).countNewlines(text, i * step, (i + 1) * step);
  }
  return nullptr;
}

// The arguments are the properties of a `ResultsRequest` of kernel.ts, in its order.
napi_value encodeResults(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  ResultsJob job = {};
  job.text = given.bytes(0);
  job.paths = given.bytes(1);
  Words newlines = given.words(2);
  job.newlines = {newlines.data, newlines.length, given.number(3)};
  job.fragments = given.bytes(4);
  Words results = given.words(5);
  job.results = results.data;
  job.resultCount = given.number(6);
  Words rows = given.words(7);
  job.rows = rows.data;
  job.rowCount = rows.length / 2;
  job.chunks = given.flag(8);
  job.contextLines = given.number(9);
  job.lineBytesMax = given.number(10);
  Text out = given.bytes(11);
  job.out = const_cast<uint8_t*>(out.data);
  job.outLength = out.length;
  job.pauseAt = given.number(12);
  Words cursor = given.words(13);
  job.cursor = cursor.data;
  Words labels = given.words(14);
  job.labels = labels.data;
  job.labelCount = given.number(15);
  job.cutsAround = given.flag(16);
  given.need(3 * job.labelCount <= labels.length);
  given.need(job.newlines.step > 0 && job.resultCount * resultWordCount <= results.length);
  given.need(cursor.length >= 3 && cursor.data[2] <= out.length);
  if (!given.sound()) return misuse(env, "encodeResults");
  Outcome outcome = loopsFor(given).encodeResults(job);
  if (outcome == Outcome::misuse) return misuse(env, "encodeResults: results or rows");
  return boolean(env, outcome == Outcome::done);
}

// writeJson(text, from, to, out, at)
napi_value writeJson(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  JsonJob job = {};
  job.text = given.bytes(0);
  job.from = given.number(1);
  job.to = given.number(2);
  Text out = given.bytes(3);
  job.out = const_cast<uint8_t*>(out.data);
  job.outLength = out.length;
  job.at = given.number(4);
  given.need(job.from <= job.to && job.to <= job.text.length && job.at <= out.length);
  if (!given.sound()) return misuse(env, "writeJson");
  return number(env, loopsFor(given).writeJson(job));
}

napi_value limitUnsent(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  uint32_t port = given.number(0), bytes = given.number(1);
  given.need(port <= 65535 && bytes <= INT32_MAX);
  if (!given.sound()) return misuse(env, "limitUnsentBytes");
  return boolean(env, limitUnsentBytes(static_cast<int>(port), static_cast<int>(bytes)));
}

napi_value sendMessage(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text address = given.bytes(0), message = given.bytes(1);
  uint32_t descriptor = given.number(2);
  given.need(descriptor <= INT32_MAX);
  if (!given.sound()) return misuse(env, "sendDatagram");
  int failed = sendDatagram(address.data, address.length, message.data, message.length, static_cast<int>(descriptor));
  return number(env, static_cast<size_t>(failed));
}

napi_value widenBuffers(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  uint32_t port = given.number(0), bytes = given.number(1);
  given.need(port > 0 && port <= 65535 && bytes <= INT32_MAX / 2);
  if (!given.sound()) return misuse(env, "widenSendBuffers");
  return number(env, static_cast<size_t>(widenSendBuffers(static_cast<int>(port), static_cast<int>(bytes))));
}

napi_value findListener(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  uint32_t port = given.number(0);
  given.need(port <= 65535);
  if (!given.sound()) return misuse(env, "listenerOf");
  return number(env, static_cast<size_t>(listenerOf(static_cast<int>(port))));
}

napi_value exchangeListener(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  uint32_t port = given.number(0), descriptor = given.number(1);
  given.need(port <= 65535 && descriptor <= INT32_MAX);
  if (!given.sound()) return misuse(env, "replaceListener");
  return number(env, static_cast<size_t>(replaceListener(static_cast<int>(port), static_cast<int>(descriptor))));
}

// The strings are the file and the secret.
napi_value filterLibrary(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  size_t at = 0;
  std::vector<char*> strings;
  given.need(takeStrings(text, &at, 2, &strings) && strlen(strings[1]) <= secretBytesMax);
  if (!given.sound()) return misuse(env, "filterInput");
  return boolean(env, filterInput(strings[0], strings[1]));
}

// filterRequests(bytes, sizes, secret, out): replaces the size of each piece by the number of bytes that come of it.
napi_value filterPieces(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text bytes = given.bytes(0);
  Words sizes = given.words(1);
  Text secret = given.bytes(2), out = given.bytes(3);
  size_t total = 0;
  for (size_t i = 0; i < sizes.length; i++) total += sizes.data[i];
  given.need(total <= bytes.length && out.length >= bytes.length + 2 * RequestFilter::growthMax && secret.length <= secretBytesMax);
  if (!given.sound()) return misuse(env, "filterRequests");
  RequestFilter filter;
  auto* to = const_cast<uint8_t*>(out.data);
  size_t from = 0;
  for (size_t i = 0; i < sizes.length; i++) {
    memcpy(to, bytes.data + from, sizes.data[i]);
    from += sizes.data[i];
    size_t count = filter.filter(to, sizes.data[i], {reinterpret_cast<const char*>(secret.data), secret.length});
    sizes.data[i] = static_cast<uint32_t>(count);
    to += count;
  }
  return nullptr;
}

// The strings are the file, the directory, the arguments and the environment.
napi_value start(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Text text = given.bytes(0);
  uint32_t argumentCount = given.number(1), environmentCount = given.number(2);
  Words limits = given.words(3), out = given.words(4);
  given.need(limits.length == 4 && out.length >= 4);
  size_t at = 0;
  std::vector<char*> names, arguments, environment;
  given.need(takeStrings(text, &at, 2, &names) && takeStrings(text, &at, argumentCount, &arguments) &&
             takeStrings(text, &at, environmentCount, &environment));
  if (!given.sound()) return misuse(env, "startProcess");
  Child child = {};
  const ChildLimits bounds = {limits.data[0], limits.data[1], limits.data[2], limits.data[3]};
  int failed = startProcess(names[0], names[1], arguments.data(), environment.data(), bounds, &child);
  const int values[] = {child.pid, child.in, child.out, child.error};
  for (size_t i = 0; i < 4; i++) out.data[i] = static_cast<uint32_t>(values[i]);
  return number(env, static_cast<size_t>(failed));
}

napi_value ended(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  uint32_t pid = given.number(0);
  Words out = given.words(1);
  given.need(pid > 0 && pid <= INT32_MAX && out.length >= 2);
  if (!given.sound()) return misuse(env, "hasEnded");
  Ending ending = {};
  bool has = hasEnded(static_cast<int>(pid), &ending);
  out.data[0] = static_cast<uint32_t>(ending.code);
  out.data[1] = static_cast<uint32_t>(ending.signal);
  return boolean(env, has);
}

const Export kernelFunctions[] = {
    {"scan", guarded<scan>},
    {"scanLines", guarded<scanLines>},
    {"scanAutomaton", guarded<scanAutomaton>},
    {"countNewlines", guarded<countNewlines>},
    {"newlineTable", guarded<newlineTable>},
    {"encodeResults", guarded<encodeResults>},
    {"writeJson", guarded<writeJson>},
};

// One object of functions for each kind of loops supported by this CPU.
bool addKernel(napi_env env, napi_value kernels, const Loops* loops) {
  if (loops == nullptr) return true;
  napi_value kernel;
  if (napi_create_object(env, &kernel) != napi_ok) return false;
  for (const Export& entry : kernelFunctions) {
    if (!addFunction(env, kernel, entry, loops)) return false;
  }
  return addPostingFunctions(env, kernel) && addDocumentFunctions(env, kernel) && addSymbolFunctions(env, kernel, loops) &&
         addDigestFunction(env, kernel) && addPatternFunctions(env, kernel, loops) && addRankingFunction(env, kernel, loops) &&
         napi_set_named_property(env, kernels, loops->name, kernel) == napi_ok;
}

}  // namespace
}  // namespace trawl

NAPI_MODULE_INIT() {
  using namespace trawl;
  installFileGuard();
  tuneAllocator();
  napi_value kernels;
  bool made = napi_create_object(env, &kernels) == napi_ok && addKernel(env, kernels, usableAvx512Loops()) &&
              addKernel(env, kernels, usableAvx2Loops()) &&
              addKernel(env, kernels, neonLoops()) && addKernel(env, kernels, swarLoops()) &&
              napi_set_named_property(env, exports, "kernels", kernels) == napi_ok &&
              addFunction(env, exports, {"limitUnsentBytes", guarded<limitUnsent>}, nullptr) &&
              addFunction(env, exports, {"sendDatagram", guarded<sendMessage>}, nullptr) &&
              addFunction(env, exports, {"widenSendBuffers", guarded<widenBuffers>}, nullptr) &&
              addFunction(env, exports, {"listenerOf", guarded<findListener>}, nullptr) &&
              addFunction(env, exports, {"replaceListener", guarded<exchangeListener>}, nullptr) &&
              addFunction(env, exports, {"filterInput", guarded<filterLibrary>}, nullptr) &&
              addFunction(env, exports, {"filterRequests", guarded<filterPieces>}, nullptr) &&
              addFunction(env, exports, {"startProcess", guarded<start>}, nullptr) &&
              addFunction(env, exports, {"hasEnded", guarded<ended>}, nullptr) && addPackFunctions(env, exports) &&
              addFileGuardFunctions(env, exports) && addHeapLimitFunctions(env, exports) &&
              addMemoryFunctions(env, exports);
  return made ? exports : nullptr;
}
