// Ranks the documents of shards that contain all of some words: what ShardRanking of src/eval/ranking does for queries
// that need nothing but literals.
#pragma once

#include <cstddef>
#include <cstdint>

#include "documents.h"
#include "loops.h"
#include "score.h"
#include "stop-flags.h"

namespace trawl {

struct PostingSections {
  WordList keys, starts;
  Text bytes;
};

// The sections of a shard, and what a search sees of it; described in ranking-kernel.ts.
struct RankedShard {
  Text content;
  WordList contentStart, contentFirstUnit, contentFirstDocument;
  WordList documentRepository, documentBranches, documentInfo, pathStart;
  Text paths;
  PostingSections postings;
  WordList tombstones;
  // Two words for each repository: the mask of its searched branches, and its place in the order of repositories.
  WordList repositories;
  // By document: 1 if it passes the filters. Empty without filters.
  Text verdicts;
  // Bits of `PathTrigrams`; empty if they are not known.
  WordList pathTrigrams;
  // Contents with a character that folds into ASCII from outside.
  WordList foldExceptions;
  // Pairs: one of these contents, and where such a character is in the text.
  WordList foldPlaces;
  // By content: its group plus 1, or 0 before it is computed.
  uint8_t* groups;
  size_t groupsLength;

  size_t contentCount() const { return contentStart.length - 1; }
  size_t documentCount() const { return documentRepository.length; }
};

// The symbols of the shard.
struct RankedSymbols {
  bool areKnown, havePostings;
  // By part.
  WordList contents, firstDocuments, firstUnits, recordStarts;
  PostingSections postings;
  WordList foldExceptions;
  // Pairs of arrays, sorted by key.
  WordList nameKeys, nameParts;
  Text records;
  const double* kindFactors;
  size_t kindCount;
};

struct RankedLeaf {
  // In lower case if case is ignored.
  Text literal;
  bool fold, inPath;
  // Whether it has a letter that a character beyond ASCII folds into.
  bool reachesFurther;
};

// A name that the words may form.
struct RankedName {
  uint32_t key;
  bool ofAll;
};

struct RankedQuery {
  std::vector<RankedLeaf> leaves;
  ScoredWords words;
  std::vector<RankedName> names;
};

constexpr uint32_t notCounted = UINT32_MAX;

struct RankLimits {
  uint32_t contentsMax, bytesMax;
  uint32_t keptDocuments, keptMatches;
  // A document with more rows counts no matches; `notCounted` if none does.
  uint32_t countedRowsMax;
  // With more rows, what was found is not listed.
  uint32_t fullRowsMax;
  bool listsFound, keepsRanges;
  // Scores below this cannot be among the best of all shards.
  uint32_t scoreMin;
  // Of what was not chosen, results are ranked until the shard has so many matches.
  uint32_t rankedMatches;
  // Then they are only counted, until all shards together have so many, as `sharedMatches` of the job tells.
  uint32_t countedMatches;
  // So much text is scanned for both.
  uint32_t othersBytesMax;
};

enum class RankOutcome : uint32_t {
  done,
  // Something needs the general way: nothing was ranked.
  refused,
  stopped,
};

// What is written to `totals`, in this order.
struct RankTotals {
  uint32_t candidateCount, isComplete, foundCount, keptCount, listedCount;
  uint32_t filteredCount, matchedCount;
  uint32_t postingBytes, scannedBytes;
  // Whether `found` lists all that was found.
  uint32_t isListed;
  // Words of `kept` that are used.
  uint32_t keptWords;
};

constexpr size_t rankTotalCount = sizeof(RankTotals) / sizeof(uint32_t);

struct RankJob {
  const Loops* loops;
  RankedShard shard;
  RankedSymbols symbols;
  const RankedQuery* query;
  RankLimits limits;
  StopFlags stop;
  // The matches that are listed of all shards of the search. Other threads add to it.
  uint32_t* sharedMatches;
  // For each kept document, in order: document, score, matches, number of rows and of rows in its path, or
  // `rangesUnknown` and 0; then the rows. Room for `keptWordsMax`.
  uint32_t* kept;
  // Pairs: a document, and its number of rows, with `rangesInPath` if its path has some.
  uint32_t* found;
  size_t foundLength;
  // What was read of posting lists and paths is added to it, as the bytes of text that take as long.
  uint64_t* listWork;
};

constexpr uint32_t rangesUnknown = 0xffffffff;
constexpr size_t keptWordCount = 5;
// The ranges of a document with more are not kept.
constexpr size_t keptRangesMax = 512;
// Of a shard with more results, none are listed.
constexpr size_t listedDocumentsMax = 1 << 16;

// What the output needs at least, for so many documents.
constexpr size_t keptWordsMax(size_t documents) { return documents * (keptWordCount + 2 * keptRangesMax); }

RankOutcome rankShard(const RankJob& job, RankTotals* totals);

// The scores of the best documents of several shards: no document with less than `least` can be among the best of all.
class BestScores {
 public:
  explicit BestScores(const RankLimits& limits) : limits_(limits), least_(limits.scoreMin) {}

  uint32_t least() const { return least_; }

  // What `rankShard` has kept of a shard.
  void add(const uint32_t* kept, size_t keptCount);

 private:
  struct Scored {
    uint32_t score, matchCount;
  };

  const RankLimits& limits_;
  std::vector<Scored> scores_;
  uint32_t least_;
};

// Words that a document takes in `kept`.
size_t keptLength(const uint32_t* kept);

}  // namespace trawl
