// The table of loops for one vector type. Must be included last, where the compiler's target has its instructions.
//
// Every vector type (`Swar`, `Avx2`, `Neon`) has the same members, so that each loop is one template. A `Mask` has
// exactly one bit for each byte, `stride` bits apart, lowest address first.
#pragma once

#include "json-writer.h"
#include "loops.h"
#include "results.h"
#include "scan.h"
#include "symbol-results.h"
#include "windows.h"

namespace trawl {

template <class V>
static size_t countNewlines(Text text, size_t from, size_t to) {
  return countBytes<V>(text, from, to, '\n');
}

// Returns the position after it, which is past the end of the output if it does not fit.
template <class V>
static size_t writeJson(const JsonJob& job) {
  JsonWriter<V> writer(job.out, job.at, job.outLength);
  writer.string(job.text, job.from, job.to);
  return writer.full ? job.outLength + 1 : writer.at;
}

template <class V>
static const Loops* loopsOf() {
  static const Loops loops = {
      V::name,
      scanInto<V, MatchRows>,
      scanInto<V, LineRows>,
      countNewlines<V>,
      encodeResults<V>,
      writeJson<V>,
      encodeSymbols<V>,
      findBlocks<V>,
  };
  return &loops;
}

}  // namespace trawl
