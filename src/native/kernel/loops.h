// The loops that are compiled once per instruction set, with their arguments and results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bytes.h"

namespace trawl {

enum class Outcome {
  done,
  full,    // The output is full, or the work limit is reached: call again.
  misuse,  // Ranges or rows are unsorted or outside the text.
};

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

// For `scan` the ranges are triples (from, to, end), for `scanLines` quadruples (from, to, end, floor).
struct ScanJob {
  Text text;
  const uint32_t* ranges;
  size_t rangeCount;
  Needle needle;
  uint8_t delimiter;
  uint32_t* rows;
  size_t rowCapacity;
  // Return after this much work, in bytes.
  size_t workMax;
  uint32_t* cursor;
};

// counts[i] is the number of newlines in the first i * step bytes of a text.
struct NewlineTable {
  const uint32_t* counts;
  size_t length;
  size_t step;
};

// The rows of one content whose elements are written.
struct EncodeJob {
  Text text;
  // Covers the text up to the end of the content.
  NewlineTable newlines;
  // Number of newlines in the text before the content.
  uint32_t linesBefore;
  size_t contentFrom;
  size_t contentTo;
  // Triples (start, end, label) of the whole text, sorted; none if matches have no labels.
  const uint32_t* labels;
  size_t labelCount;
  const uint32_t* rows;
  // The first row of the content; those before `rowFrom` were written by an earlier call.
  size_t rowBegin;
  size_t rowFrom;
  size_t rowTo;
  // The start of the line that holds the first row, and that line's number.
  size_t lineHint;
  uint32_t firstLine;
  uint32_t contextLines;
  size_t lineBytesMax;
  bool cutsAround;
  uint8_t* out;
  size_t outLength;
  size_t outFrom;
};

// The end of the last whole element that fitted, and the next row to write.
struct ElementsEnd {
  Outcome outcome;
  size_t at;
  size_t row;
};

// One match object. `path` is a byte range of the paths. `head` (the members between the path and the elements) and
// `tail` (the end of the object) are byte ranges of the fragments. `linesBefore` is the number of newlines in the text
// before the content.
struct ResultWords {
  uint32_t pathFrom, pathTo;
  uint32_t headFrom, headTo;
  uint32_t tailFrom, tailTo;
  uint32_t contentFrom, contentTo;
  uint32_t linesBefore;
  uint32_t rowFrom, rowTo;
};

constexpr size_t resultWordCount = sizeof(ResultWords) / sizeof(uint32_t);

struct ResultsJob {
  Text text;
  Text paths;
  NewlineTable newlines;
  Text fragments;
  const uint32_t* results;
  size_t resultCount;
  const uint32_t* rows;
  size_t rowCount;
  bool chunks;
  uint32_t contextLines;
  size_t lineBytesMax;
  uint8_t* out;
  size_t outLength;
  size_t pauseAt;
  uint32_t* cursor;
  // Triples (start, end, label), sorted.
  const uint32_t* labels;
  size_t labelCount;
  bool cutsAround;
};

// The part [from, to) of a text that is written as the inside of a JSON string into `out`, from `at`.
struct JsonJob {
  Text text;
  size_t from, to;
  uint8_t* out;
  size_t outLength;
  size_t at;
};

// A set of hashes: the upper bits of one choose a word, in which it has two bits.
struct HashFilter {
  const uint32_t* words;
  unsigned shift;
};

// A search for the blocks of literals that begin in `[from, until)`; see `WindowGroup` in pattern-kernel.ts.
struct BlockSearch {
  Text text;
  size_t from, until;
  size_t windowBytes, stride;
  bool fold;
  HashFilter windows, blocks;
  // Room for as many positions as there may be, and eight more: of windows, and of blocks.
  uint32_t* passed;
  uint32_t* found;
};

static inline ResultWords resultAt(const ResultsJob& job, size_t index) {
  ResultWords words;
  memcpy(&words, job.results + index * resultWordCount, sizeof words);
  return words;
}

struct SymbolsJob;

struct Loops {
  const char* name;
  Outcome (*scan)(const ScanJob&);
  Outcome (*scanLines)(const ScanJob&);
  size_t (*countNewlines)(Text text, size_t from, size_t to);
  Outcome (*encodeResults)(const ResultsJob&);
  size_t (*writeJson)(const JsonJob&);
  Outcome (*encodeSymbols)(const SymbolsJob&);
  // Writes the positions at which a block may begin, ascending; returns their number.
  size_t (*findBlocks)(const BlockSearch&);
};

// Null if compiled for another architecture. The AVX2 loops run only on a processor that has AVX2, those of AVX-512 only
// where `usableAvx512Loops` has them.
const Loops* avx512Loops();
const Loops* avx2Loops();
const Loops* neonLoops();
const Loops* swarLoops();

// Null if the processor lacks AVX2.
const Loops* usableAvx2Loops();

// Null if the processor lacks AVX-512, or is so old that it lowers its frequency for it.
const Loops* usableAvx512Loops();

// The fastest that run on this processor.
const Loops& fastestLoops();

}  // namespace trawl
