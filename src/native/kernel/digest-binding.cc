#include "bindings.h"

#include "answers.h"
#include "arguments.h"
#include "digest.h"
#include "loops.h"

namespace trawl {
namespace {

// digestResults(paths, fragments, results, resultCount, rows, range, sum)
napi_value digestResults(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  DigestJob job = {};
  job.paths = given.bytes(0);
  job.fragments = given.bytes(1);
  Words results = given.words(2), rows = given.words(4), range = given.words(5), sum = given.words(6);
  job.results = {results.data, results.length};
  job.resultCount = given.number(3);
  job.rows = {rows.data, rows.length};
  job.sum = sum.data;
  given.need(job.resultCount * resultWordCount <= results.length && range.length >= 4 && sum.length >= digestWordCount);
  if (!given.sound()) return misuse(env, "digestResults");
  job.fromResult = range.data[0], job.fromRow = range.data[1];
  job.toResult = range.data[2], job.toRow = range.data[3];
  if (!digestResults(job)) return misuse(env, "digestResults: results or rows");
  return nullptr;
}

}  // namespace

bool addDigestFunction(napi_env env, napi_value kernel) {
  return addFunction(env, kernel, {"digestResults", guarded<digestResults>}, nullptr);
}

}  // namespace trawl
