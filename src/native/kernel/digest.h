// The digest of results: a sum of hashes, one for each match, so that neither their order nor the number of threads
// changes it. result-digest.ts describes how it is computed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "documents.h"

namespace trawl {

// The bytes before a head are the key of its repository and commit.
constexpr size_t digestKeyBytes = 16;
constexpr size_t digestWordCount = 5;

// The rows that were written between two positions of a writer: each is a result and a number of its rows.
struct DigestJob {
  Text paths;
  Text fragments;
  WordList results;
  size_t resultCount;
  WordList rows;
  uint32_t fromResult, fromRow, toResult, toRow;
  // Four words of the sum, and the number of matches.
  uint32_t* sum;
};

// False if a value points outside its array.
bool digestResults(DigestJob& job);

}  // namespace trawl
