#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace trawl {

static inline bool isContinuation(uint8_t byte) { return (byte & 0xc0) == 0x80; }

// Length of the well-formed sequence of two to four bytes at `at` that ends by `to`, or 0. Overlong forms, surrogates
// and code points past U+10FFFF are not well-formed; each of their bytes counts by itself.
static inline size_t sequenceLength(Text text, size_t at, size_t to) {
  const uint8_t* p = text.data + at;
  size_t room = to - at;
  uint8_t lead = p[0];
  if (lead < 0xc2 || lead > 0xf4 || room < 2 || !isContinuation(p[1])) return 0;
  if (lead < 0xe0) return 2;
  if (room < 3 || !isContinuation(p[2])) return 0;
  if (lead < 0xf0) {
    if ((lead == 0xe0 && p[1] < 0xa0) || (lead == 0xed && p[1] >= 0xa0)) return 0;
    return 3;
  }
  if (room < 4 || !isContinuation(p[3])) return 0;
  if ((lead == 0xf0 && p[1] < 0x90) || (lead == 0xf4 && p[1] >= 0x90)) return 0;
  return 4;
}

// The largest position up to `from + bytesMax` that does not split a code point of [from, to).
static inline size_t cutAtCodePoint(Text text, size_t from, size_t to, size_t bytesMax) {
  if (to - from <= bytesMax) return to;
  size_t cut = from + bytesMax;
  for (size_t back = 1; back <= 3 && back <= bytesMax; back++) {
    if (sequenceLength(text, cut - back, to) > back) return cut - back;
  }
  return cut;
}

// Counts the code points from the start of a line to each of several increasing positions, in one pass.
template <class V>
struct Columns {
  Text text;
  size_t lineEnd;
  size_t at;
  uint32_t column = 0;
  // The bytes before it are ASCII from `at` on.
  size_t asciiUntil = 0;

  Columns(Text text, size_t lineStart, size_t lineEnd) : text(text), lineEnd(lineEnd), at(lineStart) {}

  // Number of code points that start before `to`.
  uint32_t columnAt(size_t to) {
    while (at < to) {
      if (at < asciiUntil) {
        const size_t next = asciiUntil < to ? asciiUntil : to;
        column += static_cast<uint32_t>(next - at);
        at = next;
      } else if (text.data[at] < 0x80) {
        asciiUntil = at + asciiRun();
      } else {
        const size_t length = sequenceLength(text, at, lineEnd);
        at += length != 0 ? length : 1;
        column++;
      }
    }
    return column;
  }

 private:
  // Number of ASCII bytes from `at` on, where there is one: at most a vector.
  size_t asciiRun() const {
    if (text.length - at < V::width) return 1;
    const auto mask = V::highBits(V::load(text.data + at));
    return mask != 0 ? laneOf<V>(mask) : V::width;
  }
};

}  // namespace trawl
