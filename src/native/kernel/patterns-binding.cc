#include "bindings.h"

#include "answers.h"
#include "arguments.h"
#include "patterns.h"

namespace trawl {
namespace {

WordList listOf(const Words& words) { return {words.data, words.length}; }

// The arguments are the properties of a `WindowScan` of pattern-kernel.ts, in its order.
napi_value scanWindows(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  WindowScan job = {};
  job.loops = static_cast<const Loops*>(given.data());
  job.text = given.bytes(0);
  Words ranges = given.words(1);
  job.ranges = ranges.data;
  job.rangeCount = given.number(2);
  job.literals = given.bytes(3);
  job.starts = listOf(given.words(4));
  job.fold = given.flag(5);
  job.group.windowBytes = given.number(6);
  job.group.stride = given.number(7);
  job.group.windowFilter = listOf(given.words(8));
  job.group.blockFilter = listOf(given.words(9));
  job.group.buckets = listOf(given.words(10));
  job.group.entries = listOf(given.words(11));
  job.group.offsetMax = given.number(12);
  job.workMax = given.number(13);
  Words ends = given.words(14), hits = given.words(15), cursor = given.words(16);
  job.ends = ends.data;
  job.hits = hits.data;
  job.hitCapacity = hits.length / 3;
  job.cursor = cursor.data;
  given.need(3 * job.rangeCount <= ranges.length && job.workMax > 0);
  given.need(job.starts.length > 0 && ends.length + 1 >= job.starts.length);
  given.need(cursor.length >= 4 && cursor.data[2] <= job.hitCapacity);
  if (!given.sound()) return misuse(env, "scanWindows");
  const ScanEnd end = scanWindows(job);
  if (end == ScanEnd::misuse) return misuse(env, "scanWindows: ranges or tables");
  return boolean(env, end == ScanEnd::done);
}

// unitsOfPatterns(keys, starts, postings, literals, literalStarts, literalFrom, literalTo, costMax, units, totals)
napi_value unitsOfPatterns(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  PatternUnits job = {};
  Words keys = given.words(0), starts = given.words(1);
  job.postings = given.bytes(2);
  job.literals = given.bytes(3);
  job.starts = listOf(given.words(4));
  job.literalFrom = given.number(5);
  job.literalTo = given.number(6);
  job.costMax = given.number(7);
  Words units = given.words(8), totals = given.words(9);
  job.shard = {keys.data, starts.data, keys.length};
  job.units = units.data;
  job.unitWords = units.length;
  given.need(starts.length == keys.length + 1 && totals.length >= 2);
  given.need(job.literalFrom <= job.literalTo && job.literalTo + size_t(1) <= job.starts.length);
  if (!given.sound()) return misuse(env, "unitsOfPatterns");
  const UnitsEnd end = unitsOfPatterns(job);
  if (end == UnitsEnd::misuse) return misuse(env, "unitsOfPatterns: lists or units");
  totals.data[0] = job.totals[0];
  totals.data[1] = job.totals[1];
  return boolean(env, end == UnitsEnd::found);
}

napi_value sortLabels(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  Words labels = given.words(0);
  size_t count = given.number(1);
  given.need(3 * count <= labels.length);
  if (!given.sound()) return misuse(env, "sortLabels");
  sortTriples(labels.data, count);
  return nullptr;
}

}  // namespace

bool addPatternFunctions(napi_env env, napi_value kernel, const Loops* loops) {
  return addFunction(env, kernel, {"scanWindows", guarded<scanWindows>}, loops) &&
         addFunction(env, kernel, {"unitsOfPatterns", guarded<unitsOfPatterns>}, nullptr) &&
         addFunction(env, kernel, {"sortLabels", guarded<sortLabels>}, nullptr);
}

}  // namespace trawl
