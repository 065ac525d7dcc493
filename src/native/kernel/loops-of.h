// The table of loops for one vector type. Must be included last, where the compiler's target has its instructions.
#pragma once

#include "loops.h"
#include "results.h"
#include "scan.h"

namespace trawl {

template <class V>
static size_t countNewlines(Text text, size_t from, size_t to) {
  return countBytes<V>(text, from, to, '\n');
}

template <class V>
static const Loops* loopsOf() {
  static const Loops loops = {
      V::name,
      scanInto<V, MatchRows>,
      scanInto<V, LineRows>,
      countNewlines<V>,
      encodeResults<V>,
  };
  return &loops;
}

}  // namespace trawl
