// The loops that exist once for each kind of vector unit, and what they take and give.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "needle.h"

namespace trawl {

enum class Outcome {
  done,
  full,    // The output has no room for more; call again.
  misuse,  // Ranges or rows that are unsorted or outside the text.
};

// For `scan` the ranges are triples (from, to, end), for `scanLines` quadruples (from, to, end, floor).
struct ScanJob {
  Text text;
  const uint32_t* ranges;
  size_t rangeCount;
  Needle needle;
  uint8_t delimiter;
  uint32_t* rows;
  size_t rowCapacity;
  uint32_t* cursor;
};

struct EncodeJob {
  Text text;
  size_t contentFrom;
  size_t contentTo;
  const uint32_t* rows;
  size_t rowFrom;
  size_t rowTo;
  size_t lineHint;
  uint32_t firstLine;
  uint32_t contextLines;
  size_t lineBytesMax;
  uint8_t* out;
  size_t outLength;
  size_t outFrom;
  uint32_t* result;
};

struct Loops {
  const char* name;
  Outcome (*scan)(const ScanJob&);
  Outcome (*scanLines)(const ScanJob&);
  size_t (*countNewlines)(Text text, size_t from, size_t to);
  Outcome (*encodeLineMatches)(const EncodeJob&);
  Outcome (*encodeChunkMatches)(const EncodeJob&);
  // Returns the new position in `out`, which has room for 6 * (to - from) + 2 bytes from `outFrom`.
  size_t (*encodeString)(Text text, size_t from, size_t to, uint8_t* out, size_t outFrom);
};

// Null when compiled for another processor. The AVX2 loops run only where the processor has been asked.
const Loops* avx2Loops();
const Loops* neonLoops();
const Loops* swarLoops();

// Null where the processor lacks AVX2.
const Loops* usableAvx2Loops();

}  // namespace trawl
