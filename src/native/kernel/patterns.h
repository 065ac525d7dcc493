// Finds many literals in one pass over a text, and the units of a shard that can contain one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "postings.h"

namespace trawl {

struct WordList {
  const uint32_t* data;
  size_t length;
};

// A part of the arguments of pattern-kernel.ts: the literals that are found by windows of one size.
struct WindowScan {
  Text text;
  // Triples (from, to, end).
  const uint32_t* ranges;
  size_t rangeCount;
  Text literals;
  WordList starts;
  bool fold;
  size_t windowBytes, stride;
  WordList filter, buckets, entries;
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

// The literals of a set as trigrams: literal i has `trigrams[numbers[starts[i]]]` to before `[starts[i + 1]]`.
struct TrigramSets {
  WordList trigrams, starts, numbers;
};

struct PatternUnits {
  PostingLists shard;
  Text postings;
  TrigramSets sets;
  size_t costMax;
  // A bit for each unit.
  uint32_t* units;
  size_t unitWords;
  // The number of literals that can occur, and the bytes of their shortest lists.
  uint32_t totals[2];
};

// False if the units are not known, because that would cost too much or because a literal has no trigram.
enum class UnitsEnd { found, unknown, misuse };

UnitsEnd unitsOfPatterns(PatternUnits& job);

// Sorts triples by the first number, then by the second, the larger first, then by the third.
void sortTriples(uint32_t* triples, size_t count);

}  // namespace trawl
