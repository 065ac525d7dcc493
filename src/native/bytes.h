// Finding and counting single bytes. All loops over text read whole lanes wherever the lane lies inside the text, even
// beyond the requested range, and ignore the rest; they never read past the end of the text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

struct Text {
  const uint8_t* data;
  size_t length;
};

// An array of words and its length.
struct WordList {
  const uint32_t* data;
  size_t length;

  uint32_t operator[](size_t index) const { return data[index]; }
};

template <class V>
static inline size_t laneOf(typename V::Mask mask) {
  if constexpr (sizeof(mask) == 4) return __builtin_ctz(mask) / V::stride;
  else return __builtin_ctzll(mask) / V::stride;
}

template <class V>
static inline size_t lastLaneOf(typename V::Mask mask) {
  if constexpr (sizeof(mask) == 4) return (31 - __builtin_clz(mask)) / V::stride;
  else return (63 - __builtin_clzll(mask)) / V::stride;
}

template <class V>
static inline size_t lanesIn(typename V::Mask mask) {
  if constexpr (sizeof(mask) == 4) return __builtin_popcount(mask);
  else return __builtin_popcountll(mask);
}

// Keeps lanes at or after `lane`, which may lie past the last one.
template <class V>
static inline typename V::Mask keepFrom(typename V::Mask mask, size_t lane) {
  return lane < V::width ? mask & (~typename V::Mask(0) << (lane * V::stride)) : 0;
}

// Keeps lanes before `lane`, which may lie past the last one.
template <class V>
static inline typename V::Mask keepBelow(typename V::Mask mask, size_t lane) {
  return lane < V::width ? mask & ~(~typename V::Mask(0) << (lane * V::stride)) : mask;
}

// Position of the first `byte` in [from, to), or `to`.
template <class V>
static inline size_t findFirst(Text text, size_t from, size_t to, uint8_t byte) {
  const typename V::Reg wanted = V::splat(byte);
  while (from < to && text.length - from >= V::width) {
    auto mask = V::mask(V::equal(V::load(text.data + from), wanted));
    if (mask != 0) {
      size_t at = from + laneOf<V>(mask);
      return at < to ? at : to;
    }
    from += V::width;
  }
  while (from < to && text.data[from] != byte) from++;
  return from < to ? from : to;
}

// One past the position of the last `byte` in [from, to), or `from`: the start of a line when `byte` ends lines.
template <class V>
static inline size_t afterLast(Text text, size_t from, size_t to, uint8_t byte) {
  const typename V::Reg wanted = V::splat(byte);
  while (from < to && to >= V::width) {
    size_t base = to - V::width;
    auto mask = V::mask(V::equal(V::load(text.data + base), wanted));
    if (mask != 0) {
      size_t after = base + lastLaneOf<V>(mask) + 1;
      return after > from ? after : from;
    }
    to = base;
  }
  while (from < to && text.data[to - 1] != byte) to--;
  return from < to ? to : from;
}

template <class V>
static inline size_t countBytes(Text text, size_t from, size_t to, uint8_t byte) {
  const typename V::Reg wanted = V::splat(byte);
  size_t count = 0;
  for (; to - from >= V::width; from += V::width) {
    count += lanesIn<V>(V::mask(V::equal(V::load(text.data + from), wanted)));
  }
  if (from < to && text.length - from >= V::width) {
    return count + lanesIn<V>(keepBelow<V>(V::mask(V::equal(V::load(text.data + from), wanted)), to - from));
  }
  for (; from < to; from++) count += text.data[from] == byte;
  return count;
}

}  // namespace trawl
