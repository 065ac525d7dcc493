// The table of loops for one lane type. Include last, where the compiler's target allows its instructions.
#pragma once

#include "chunk-matches.h"
#include "json-writer.h"
#include "line-matches.h"
#include "loops.h"
#include "scan.h"

namespace trawl {

template <class V>
static size_t countNewlines(Text text, size_t from, size_t to) {
  return countBytes<V>(text, from, to, '\n');
}

template <class V>
static size_t encodeString(Text text, size_t from, size_t to, uint8_t* out, size_t outFrom) {
  JsonWriter<V> json(out, outFrom, outFrom + 6 * (to - from) + 2);
  json.raw("\"");
  json.string(text, from, to);
  json.raw("\"");
  return json.at;
}

template <class V>
static const Loops* loopsOf() {
  static const Loops loops = {
      V::name,
      scanInto<V, MatchRows>,
      scanInto<V, LineRows>,
      countNewlines<V>,
      encodeLineMatches<V>,
      encodeChunkMatches<V>,
      encodeString<V>,
  };
  return &loops;
}

}  // namespace trawl
