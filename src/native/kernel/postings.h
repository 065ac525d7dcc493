#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "pages.h"

namespace trawl {

// By so much a unit reaches into the next one: overlapBytes of src/shard/format.ts.
constexpr size_t overlapBytes = 64;

// The class alphabet, the same as in alphabet.ts; a test compares the posting lists of both.
struct ClassTable {
  uint8_t of[256];

  constexpr ClassTable() : of() {
    uint8_t classOfSymbol[128] = {};
    uint8_t next = 1;
    for (unsigned byte = 0; byte < 128; byte++) {
      unsigned symbol = byte;
      if (byte >= 'A' && byte <= 'Z') symbol = byte | 0x20;
      else if (byte < 32 && byte != '\t' && byte != '\n') symbol = 0;
      if (classOfSymbol[symbol] == 0) classOfSymbol[symbol] = next++;
      of[byte] = classOfSymbol[symbol];
    }
    for (unsigned byte = 128; byte < 256; byte++) of[byte] = static_cast<uint8_t>(next + byte % (128u - next));
  }
};

static constexpr ClassTable classes;
constexpr unsigned trigramBits = 21;
constexpr uint32_t trigramCount = 1u << trigramBits;

// Builds posting lists in three steps: `gather` reads the text once; the caller allocates the output by `keyCount` and
// `byteCount`; `write` fills it. `gather` returns false if memory could not be allocated.
class PostingsBuilder {
 public:
  // `units` holds pairs (from, to), which must lie within the text.
  bool gather(Text text, const uint32_t* units, size_t unitCount);

  size_t keyCount() const { return keyCount_; }
  uint64_t byteCount() const { return byteCount_; }

  // `keys` must have room for keyCount() numbers, `offsets` for one more, `bytes` for byteCount() bytes.
  void write(uint32_t* keys, uint32_t* offsets, uint8_t* bytes);

 private:
  struct List {
    // Number of the last unit seen, plus 1; 0 before the first.
    uint32_t lastUnit;
    // In `gather` the size in bytes, in `write` the position of the next byte.
    uint32_t at;
  };

  bool reserve(const uint32_t* units, size_t unitCount);
  void count(size_t unit, size_t from, size_t to);
  template <class Take>
  void eachSorted(Take take) const;
  void sortEntries();
  void writeSorted(uint32_t* keys, uint32_t* offsets, uint8_t* bytes) const;

  // Whether the lists are made by sorting all entries, or else in a table with a list for each trigram.
  bool isSorted_ = false;
  // A trigram and, in the lower half, the number of a unit plus 1.
  Pages<uint64_t> entries_;
  Pages<List> lists_;
  // The distinct trigrams of each unit, unit by unit. Address space is reserved for the largest possible number; memory
  // is used only for what is written.
  Pages<uint32_t> trigrams_;
  // unitEnds_[i] is the end of unit i in `trigrams_`.
  Pages<size_t> unitEnds_;
  size_t unitCount_ = 0;
  size_t keyCount_ = 0;
  uint64_t byteCount_ = 0;
};

constexpr size_t noRoom = SIZE_MAX;

// Number of distinct trigrams in [from, to), counted up to limit + 1; `noRoom` if memory could not be allocated.
size_t distinctTrigrams(Text text, size_t from, size_t to, size_t limit);

// Decodes [from, to) of `postings` into `out`; returns the number of units, or `noRoom` if `out` is too short.
size_t decodePostings(Text postings, size_t from, size_t to, uint32_t* out, size_t outRoom);

// Intersects the sorted `units` with the list, in place; returns the number of units that remain.
size_t intersectPostings(Text postings, size_t from, size_t to, uint32_t* units, size_t count);

// The posting lists of a shard: list i, of trigram keys[i], is [starts[i], starts[i + 1]) of `bytes`.
struct PostingLists {
  const uint32_t* keys;
  const uint32_t* starts;
  size_t count;
};

// Finds the lists of the trigrams of `literal`, distinct, the shortest first; those of equal length in the order of the
// literal. Returns how many it wrote into `lists`, which must have room for one per trigram; 0 if a trigram has none.
size_t findLists(const PostingLists& shard, Text literal, uint32_t* lists);

// Another list is intersected only while it has fewer bytes than this many times the number of remaining units.
constexpr size_t mergeBytesPerUnit = 64;

// At most this many lists are intersected with the first: more would rule out almost nothing.
constexpr size_t mergedListsMax = 5;

// Decodes the first of `lists` into `units`, and intersects it with the others as long as that pays. Returns the number
// of units, or `noRoom` if `units` is too short or a list does not lie within `postings`.
size_t unitsOfLists(Text postings, const uint32_t* starts, size_t startCount, const uint32_t* lists, size_t listCount,
                    uint32_t* units, size_t room);

// Writes the contents that have some of the ascending `units` to `out`, each once. Content i consists of the units from
// firstUnits[i] to before firstUnits[i + 1]. Returns how many, or `noRoom` if `out` is too short.
size_t contentsOfUnits(const uint32_t* units, size_t unitCount, const uint32_t* firstUnits, size_t contentCount,
                       uint32_t* out, size_t room);

}  // namespace trawl
