// The names and kinds of symbols, and the match objects of files with symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bytes.h"
#include "loops.h"

namespace trawl {

// The names of a record, each followed by a newline, are copied to [outFrom, outTo) of `out`.
struct NamesJob {
  Text record;
  Text text;
  size_t textFrom, textTo;
  uint8_t* out;
  size_t outFrom, outTo;
};

// False if the record is damaged, or the names have another size.
bool copySymbolNames(const NamesJob& job);

// The kinds of the symbols whose names begin at the rows [rowFrom, rowTo), which ascend; the names of the record begin
// at `namesFrom`.
struct KindsJob {
  Text record;
  size_t namesFrom;
  const uint32_t* rows;
  size_t rowFrom, rowTo;
  uint32_t* out;
};

// False if the record is damaged, or no name begins at a row.
bool symbolKinds(const KindsJob& job);

// The symbols of the record whose names are in the text and contain one of the rows [rowFrom, rowTo), which ascend. Of
// the first `symbolsMax` names that are in the text, those are looked at that begin before the end of the last row.
struct PlacesJob {
  Text record;
  size_t textFrom, textTo;
  const uint32_t* rows;
  size_t rowFrom, rowTo;
  size_t symbolsMax;
  // Groups of `placeWordCount` words.
  uint32_t* out;
  size_t outCount;
};

// Where the name begins and ends in the text, the kind, and the reference to the container as a record has it.
constexpr size_t placeWordCount = 4;

// Returns how many there are, at most `outCount`. Of a damaged record, those before the damage.
size_t symbolsAtRows(const PlacesJob& job);

// One file. `path`, `head`, `tail` and `rows` are as in `ResultWords`; `link` is the range of the fragments with which
// links to the repository begin. `record` is a range of the records, `text` one of the text.
struct SymbolResultWords {
  uint32_t pathFrom, pathTo;
  uint32_t headFrom, headTo;
  uint32_t tailFrom, tailTo;
  uint32_t linkFrom, linkTo;
  uint32_t recordFrom, recordTo;
  uint32_t textFrom, textTo;
  // Number of newlines before the text of the file.
  uint32_t linesBefore;
  // Where the names of the record begin.
  uint32_t namesFrom;
  uint32_t rowFrom, rowTo;
};

constexpr size_t symbolResultWordCount = sizeof(SymbolResultWords) / sizeof(uint32_t);

struct SymbolsJob {
  Text text;
  Text records;
  Text paths;
  NewlineTable newlines;
  Text fragments;
  // Kind i is [kindStarts[i], kindStarts[i + 1]) of the fragments.
  const uint32_t* kindStarts;
  size_t kindCount;
  const uint32_t* results;
  size_t resultCount;
  const uint32_t* rows;
  size_t rowCount;
  uint8_t* out;
  size_t outLength;
  size_t pauseAt;
  // Result, rows done, position in `out`, then a `SymbolPlace`.
  uint32_t* cursor;
};

constexpr size_t symbolCursorWords = 8;

static inline SymbolResultWords symbolResultAt(const SymbolsJob& job, size_t index) {
  SymbolResultWords words;
  memcpy(&words, job.results + index * symbolResultWordCount, sizeof words);
  return words;
}

}  // namespace trawl
