#include "bindings.h"

#include "answers.h"
#include "arguments.h"
#include "documents.h"

namespace trawl {
namespace {

constexpr size_t tableArgumentCount = 10;

WordList listAt(Arguments& given, size_t index) {
  Words words = given.words(index);
  return {words.data, words.length};
}

// The first arguments are the properties of a `DocumentTable` of kernel.ts, in its order.
DocumentTable tableOf(Arguments& given) {
  DocumentTable table = {listAt(given, 0), listAt(given, 1), listAt(given, 2), listAt(given, 3), listAt(given, 4),
                         listAt(given, 5), listAt(given, 6), listAt(given, 7), listAt(given, 8), listAt(given, 9)};
  given.need(table.isSound());
  return table;
}

// The elements [0, count) of the array.
WordList firstOf(Arguments& given, size_t index, size_t count) {
  WordList list = listAt(given, index);
  given.need(count <= list.length);
  return {list.data, count};
}

// visibleContents(...table, contents, contentCount, out, counts)
napi_value visibleContents(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  constexpr size_t at = tableArgumentCount;
  VisibleJob job = {};
  job.table = tableOf(given);
  job.contents = firstOf(given, at, given.number(at + 1));
  Words out = given.words(at + 2), counts = given.words(at + 3);
  job.out = out.data;
  given.need(out.length >= job.contents.length && counts.length >= 1);
  if (!given.sound()) return misuse(env, "visibleContents");
  size_t count = visibleContents(job);
  if (count == SIZE_MAX) return misuse(env, "visibleContents: documents");
  counts.data[0] = static_cast<uint32_t>(job.documentCount);
  return number(env, count);
}

// listResults(...table, contents, contentCount, rows, rowCount, results, documents, counts, totals)
napi_value listResults(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  constexpr size_t at = tableArgumentCount;
  ListJob job = {};
  job.table = tableOf(given);
  job.contents = firstOf(given, at, given.number(at + 1));
  job.rows = listAt(given, at + 2);
  job.rowCount = given.number(at + 3);
  Words results = given.words(at + 4), documents = given.words(at + 5), counts = given.words(at + 6);
  Words totals = given.words(at + 7);
  job.results = results.data;
  job.documents = documents.data;
  job.capacity = documents.length;
  job.counts = counts.data;
  job.countsLength = counts.length;
  given.need(2 * job.rowCount <= job.rows.length && documents.length * resultWordCount <= results.length);
  given.need(totals.length >= 3);
  if (!given.sound()) return misuse(env, "listResults");
  if (!listResults(job)) return misuse(env, "listResults: documents or rows");
  totals.data[0] = static_cast<uint32_t>(job.resultCount);
  totals.data[1] = static_cast<uint32_t>(job.matchCount);
  totals.data[2] = static_cast<uint32_t>(job.rowCountMax);
  return nullptr;
}

// countDocuments(...table, found, leftOut, countMax, counts, totals)
napi_value countDocuments(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  constexpr size_t at = tableArgumentCount;
  CountJob job = {};
  job.table = tableOf(given);
  job.found = listAt(given, at);
  job.leftOut = listAt(given, at + 1);
  job.countMax = given.number(at + 2);
  Words counts = given.words(at + 3), totals = given.words(at + 4);
  job.counts = counts.data;
  job.countsLength = counts.length;
  given.need(job.found.length % 2 == 0 && totals.length >= 3);
  if (!given.sound()) return misuse(env, "countDocuments");
  const CountEnd end = countDocuments(job);
  if (end == CountEnd::misuse) return misuse(env, "countDocuments: documents");
  totals.data[0] = static_cast<uint32_t>(job.matchCount);
  totals.data[1] = static_cast<uint32_t>(job.contentMatches);
  totals.data[2] = static_cast<uint32_t>(job.pathMatches);
  return boolean(env, end == CountEnd::counted);
}

}  // namespace

bool addDocumentFunctions(napi_env env, napi_value kernel) {
  return addFunction(env, kernel, {"visibleContents", guarded<visibleContents>}, nullptr) &&
         addFunction(env, kernel, {"listResults", guarded<listResults>}, nullptr) &&
         addFunction(env, kernel, {"countDocuments", guarded<countDocuments>}, nullptr);
}

}  // namespace trawl
