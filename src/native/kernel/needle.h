#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// A literal to find, and the positions of the two bytes to compare first: the pair that is expected to be rarest in
// source code. A block of text without a match is nearly always rejected by these two bytes alone.
struct Needle {
  const uint8_t* bytes;
  size_t length;
  bool fold;
  // Positions in the needle, first <= second; equal only if the needle is one byte long.
  size_t first;
  size_t second;
};

Needle makeNeedle(const uint8_t* bytes, size_t length, bool fold);

}  // namespace trawl
