#include "loops.h"

namespace trawl {
namespace {

// How common each byte is in source code: eight times the base-2 logarithm of the number of its occurrences in 128 MiB.
// Counted over 60 MB of C, scripts and documentation of the Linux kernel.
const uint8_t commonness[256] = {
      0,   0,   0,   0,   0,   0,   0,   0,   0, 177, 177,   0,  25,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    192, 131, 153, 150, 114, 132, 144, 125, 164, 164, 163, 136, 166, 161, 154, 154,
    168, 158, 155, 151, 149, 143, 145, 139, 147, 138, 145, 163, 139, 158, 156, 111,
    125, 162, 152, 162, 160, 165, 155, 150, 148, 162, 120, 144, 158, 158, 159, 158,
    159, 133, 162, 163, 163, 152, 145, 142, 145, 139, 126, 138, 134, 137,  98, 182,
    118, 175, 160, 173, 173, 182, 168, 161, 162, 177, 123, 155, 169, 166, 175, 173,
    168, 145, 177, 176, 179, 169, 161, 153, 161, 152, 137, 147, 134, 147, 113,   0,
    107,  91,  98,  89,  98,  94,  89,  91,  95,  93,  86,  93, 100,  92,  87,  96,
     89,  85,  76,  83, 101,  87,  91,  84,  88,  90, 100,  87,  97,  79,  83,  85,
     92,  91,  83,  87,  86,  90,  88,  85,  98,  85,  84,  81,  80,  90,  92,  95,
     92,  85,  82,  83,  79,  77,  87,  83, 102,  88,  97,  96, 101,  95,  87,  91,
      0,   0,  67,  80,  17,  41,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
     48,  46,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
      0,   0,  96,  91, 109, 115, 112, 109, 106, 101,   9,  35,  28,   9,   0,  96,
      0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
};

// The cost of a pair of bytes beyond their frequencies, on the scale of `commonness`. Nearby bytes are not independent
// ("in", "re"): in the same text a pair is about four times as common as its frequencies suggest if the bytes are
// adjacent, and twice as common with one byte between them. Two adjacent equal bytes occur only in runs, while equal
// bytes further apart are common (any two spaces, for example).
unsigned dependence(size_t distance, bool isEqual) {
  if (isEqual) return distance == 1 ? 0 : 8;
  return distance == 1 ? 16 : distance == 2 ? 8 : 0;
}

size_t rarest(const uint8_t* bytes, size_t length) {
  size_t best = 0;
  for (size_t i = 1; i < length; i++) {
    if (commonness[bytes[i]] < commonness[bytes[best]]) best = i;
  }
  return best;
}

// The position with the lowest cost when compared together with `first`; the last one if several are equal.
size_t bestBeside(const uint8_t* bytes, size_t length, size_t first) {
  size_t best = first;
  unsigned bestCost = UINT32_MAX;
  for (size_t i = 0; i < length; i++) {
    if (i == first) continue;
    unsigned cost = commonness[bytes[i]] + dependence(i < first ? first - i : i - first, bytes[i] == bytes[first]);
    if (cost > bestCost) continue;
    best = i;
    bestCost = cost;
  }
  return best;
}

}  // namespace

Needle makeNeedle(const uint8_t* bytes, size_t length, bool fold) {
  size_t one = rarest(bytes, length);
  size_t other = bestBeside(bytes, length, one);
  return {bytes, length, fold, one < other ? one : other, one < other ? other : one};
}

}  // namespace trawl
