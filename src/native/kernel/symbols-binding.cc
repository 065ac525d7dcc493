#include "bindings.h"

#include "answers.h"
#include "arguments.h"
#include "loops.h"
#include "symbols.h"

namespace trawl {
namespace {

napi_value damaged(napi_env env) {
  napi_throw_range_error(env, nullptr, "a record of symbols is damaged");
  return nullptr;
}

// copySymbolNames(record, text, textFrom, textTo, out, outFrom, outTo)
napi_value copyNames(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  NamesJob job = {};
  job.record = given.bytes(0);
  job.text = given.bytes(1);
  job.textFrom = given.number(2);
  job.textTo = given.number(3);
  Text out = given.bytes(4);
  job.out = const_cast<uint8_t*>(out.data);
  job.outFrom = given.number(5);
  job.outTo = given.number(6);
  given.need(job.textFrom <= job.textTo && job.textTo <= job.text.length);
  given.need(job.outFrom <= job.outTo && job.outTo <= out.length);
  if (!given.sound()) return misuse(env, "copySymbolNames");
  return copySymbolNames(job) ? nullptr : damaged(env);
}

// symbolKinds(records, recordFrom, recordTo, namesFrom, rows, rowFrom, rowTo, out)
napi_value kinds(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  KindsJob job = {};
  Text records = given.bytes(0);
  size_t recordFrom = given.number(1), recordTo = given.number(2);
  given.need(recordFrom <= recordTo && recordTo <= records.length);
  if (given.sound()) job.record = {records.data + recordFrom, recordTo - recordFrom};
  job.namesFrom = given.number(3);
  Words rows = given.words(4);
  job.rows = rows.data;
  job.rowFrom = given.number(5);
  job.rowTo = given.number(6);
  Words out = given.words(7);
  job.out = out.data;
  given.need(job.rowFrom <= job.rowTo && job.rowTo <= rows.length / 2 && job.rowTo - job.rowFrom <= out.length);
  if (!given.sound()) return misuse(env, "symbolKinds");
  return symbolKinds(job) ? nullptr : damaged(env);
}

// symbolsAtRows(records, recordFrom, recordTo, textFrom, textTo, rows, rowFrom, rowTo, symbolsMax, out)
napi_value places(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  PlacesJob job = {};
  Text records = given.bytes(0);
  size_t recordFrom = given.number(1), recordTo = given.number(2);
  given.need(recordFrom <= recordTo && recordTo <= records.length);
  if (given.sound()) job.record = {records.data + recordFrom, recordTo - recordFrom};
  job.textFrom = given.number(3);
  job.textTo = given.number(4);
  Words rows = given.words(5);
  job.rows = rows.data;
  job.rowFrom = given.number(6);
  job.rowTo = given.number(7);
  job.symbolsMax = given.number(8);
  Words out = given.words(9);
  job.out = out.data;
  job.outCount = out.length / placeWordCount;
  given.need(job.textFrom <= job.textTo && job.rowFrom <= job.rowTo && job.rowTo <= rows.length / 2);
  if (!given.sound()) return misuse(env, "symbolsAtRows");
  return number(env, symbolsAtRows(job));
}

// The arguments are the properties of a `SymbolsRequest` of kernel.ts, in its order.
napi_value encode(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  SymbolsJob job = {};
  job.text = given.bytes(0);
  job.records = given.bytes(1);
  job.paths = given.bytes(2);
  Words newlines = given.words(3);
  job.newlines = {newlines.data, newlines.length, given.number(4)};
  job.fragments = given.bytes(5);
  Words kindStarts = given.words(6);
  job.kindStarts = kindStarts.data;
  job.kindCount = kindStarts.length > 0 ? kindStarts.length - 1 : 0;
  Words results = given.words(7);
  job.results = results.data;
  job.resultCount = given.number(8);
  Words rows = given.words(9);
  job.rows = rows.data;
  job.rowCount = rows.length / 2;
  Text out = given.bytes(10);
  job.out = const_cast<uint8_t*>(out.data);
  job.outLength = out.length;
  job.pauseAt = given.number(11);
  Words cursor = given.words(12);
  job.cursor = cursor.data;
  given.need(job.newlines.step > 0 && job.resultCount * symbolResultWordCount <= results.length);
  given.need(cursor.length >= symbolCursorWords && cursor.data[2] <= out.length);
  for (size_t i = 0; i < kindStarts.length; i++)
    given.need(kindStarts.data[i] <= job.fragments.length && (i == 0 || kindStarts.data[i - 1] <= kindStarts.data[i]));
  if (!given.sound()) return misuse(env, "encodeSymbols");
  const Loops& loops = *static_cast<const Loops*>(given.data());
  const Outcome outcome = loops.encodeSymbols(job);
  if (outcome == Outcome::misuse) return damaged(env);
  return boolean(env, outcome == Outcome::done);
}

}  // namespace

bool addSymbolFunctions(napi_env env, napi_value kernel, const Loops* loops) {
  return addFunction(env, kernel, {"copySymbolNames", guarded<copyNames>}, nullptr) &&
         addFunction(env, kernel, {"symbolKinds", guarded<kinds>}, nullptr) &&
         addFunction(env, kernel, {"symbolsAtRows", guarded<places>}, nullptr) &&
         addFunction(env, kernel, {"encodeSymbols", guarded<encode>}, loops);
}

}  // namespace trawl
