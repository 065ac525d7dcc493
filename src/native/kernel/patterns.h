// Finds many literals in one pass over a text, and the units of a shard that can contain one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "loops.h"
#include "postings.h"

namespace trawl {

// A `WindowGroup` of pattern-kernel.ts.
struct WindowGroup {
  size_t windowBytes, stride;
  WordList windowFilter, blockFilter, buckets, entries;
  size_t offsetMax;
};

// A `WindowScan` of pattern-kernel.ts.
struct WindowScan {
  const Loops* loops;
  Text text;
  // Triples (from, to, end).
  const uint32_t* ranges;
  size_t rangeCount;
  Text literals;
  WordList starts;
  bool fold;
  WindowGroup group;
  size_t workMax;
  // By literal: where its last occurrence ends.
  uint32_t* ends;
  // Triples (start, end, literal).
  uint32_t* hits;
  size_t hitCapacity;
  uint32_t* cursor;
};

enum class ScanEnd { done, paused, misuse };

ScanEnd scanWindows(const WindowScan& job);

// The arguments of `unitsOfPatterns` in pattern-kernel.ts.
struct PatternUnits {
  PostingLists shard;
  Text postings;
  Text literals;
  WordList starts;
  size_t literalFrom, literalTo;
  size_t costMax;
  // A bit for each unit.
  uint32_t* units;
  size_t unitWords;
  // The number of literals that can occur, and the bytes of their shortest lists.
  uint32_t totals[2];
};

// Unknown if that would cost too much, or if a literal has no trigram.
enum class UnitsEnd { found, unknown, misuse };

UnitsEnd unitsOfPatterns(PatternUnits& job);

// Sorts triples by the first number, then by the second, the larger first, then by the third.
void sortTriples(uint32_t* triples, size_t count);

}  // namespace trawl
