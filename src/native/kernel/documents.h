// Lists the documents of a shard that contain rows, as results to write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loops.h"

namespace trawl {

// The documents of a shard, and what a search wants of them. Each field is described in kernel.ts.
struct DocumentTable {
  WordList contentStart;
  WordList contentFirstLine;
  WordList contentFirstDocument;
  WordList pathStart;
  WordList documentRepository;
  WordList documentBranches;
  WordList documentInfo;
  WordList tombstones;
  WordList repositories;
  WordList tailStarts;

  size_t contentCount() const { return contentFirstLine.length; }

  // True if the arrays have the lengths that the others require, so that only values have to be checked later.
  bool isSound() const;
};

struct VisibleJob {
  DocumentTable table;
  WordList contents;
  uint32_t* out;
  // Set to the number of visible documents.
  size_t documentCount;
};

// Writes the contents that have a visible document to `out`, which must have room for all of them. Returns how many, or
// SIZE_MAX if a value points outside its array.
size_t visibleContents(VisibleJob& job);

struct ListJob {
  DocumentTable table;
  WordList contents;
  WordList rows;
  size_t rowCount;
  uint32_t* results;
  uint32_t* documents;
  // Of `results` and `documents`.
  size_t capacity;
  uint32_t* counts;
  size_t countsLength;
  // Set to the number of results, of their rows in total, and the largest number of rows of one.
  size_t resultCount;
  size_t matchCount;
  size_t rowCountMax;
};

struct CountJob {
  DocumentTable table;
  // Pairs: a document, and its number of rows, with `rangesInPath` if its path has some.
  WordList found;
  // Ascending.
  WordList leftOut;
  uint64_t countMax;
  uint32_t* counts;
  size_t countsLength;
  // Set to the matches in total, those in texts, and the number of documents with matches in their path or no others.
  uint64_t matchCount;
  uint64_t contentMatches;
  uint64_t pathMatches;
};

constexpr uint32_t rangesInPath = 0x80000000;

enum class CountEnd {
  counted,
  // There are more matches than `countMax`: the counts are unspecified.
  tooMany,
  misuse,
};

CountEnd countDocuments(CountJob& job);

// False if a value points outside its array, the rows are not in the contents, or there are more results than room.
bool listResults(ListJob& job);

}  // namespace trawl
