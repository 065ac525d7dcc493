#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// A literal to find, and the two of its bytes that are compared first: the rarest ones in source code. With them a
// block of text without a match is nearly always passed over without looking at the rest of the needle.
struct Needle {
  const uint8_t* bytes;
  size_t length;
  bool fold;
  // Positions in the needle, first <= second; equal only when the needle is one byte long.
  size_t first;
  size_t second;
};

Needle makeNeedle(const uint8_t* bytes, size_t length, bool fold);

}  // namespace trawl
