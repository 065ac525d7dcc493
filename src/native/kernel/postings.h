#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "pages.h"

namespace trawl {

// Builds posting lists in three steps: `gather` reads the text once, then the caller makes room for what the sizes say,
// then `write` fills it. Memory that cannot be had is reported by `gather`.
class PostingsBuilder {
 public:
  // `units` holds pairs (from, to) that lie within the text.
  bool gather(Text text, const uint32_t* units, size_t unitCount);

  size_t keyCount() const { return keyCount_; }
  uint64_t byteCount() const { return byteCount_; }

  // `keys` has room for keyCount() numbers, `offsets` for one more, `bytes` for byteCount() bytes.
  void write(uint32_t* keys, uint32_t* offsets, uint8_t* bytes);

 private:
  struct List {
    // Number of the last unit seen, plus 1; 0 before the first.
    uint32_t lastUnit;
    // While gathering the size in bytes, while writing the place of the next byte.
    uint32_t at;
  };

  bool reserve(const uint32_t* units, size_t unitCount);
  void count(size_t unit, size_t from, size_t to);

  Pages<List> lists_;
  // The distinct trigrams of each unit, one unit after the other. Room for more than there can be is only reserved.
  Pages<uint32_t> trigrams_;
  // unitEnds_[i] is the end of unit i in `trigrams_`.
  Pages<size_t> unitEnds_;
  size_t unitCount_ = 0;
  size_t keyCount_ = 0;
  uint64_t byteCount_ = 0;
};

constexpr size_t noRoom = SIZE_MAX;

// Number of distinct trigrams in [from, to), counted up to limit + 1; `noRoom` when there is no memory.
size_t distinctTrigrams(Text text, size_t from, size_t to, size_t limit);

// Decodes [from, to) of `postings` into `out`; returns how many, or `noRoom` when `out` is too short.
size_t decodePostings(Text postings, size_t from, size_t to, uint32_t* out, size_t outRoom);

// Keeps those of the sorted `units` that are in the list; returns how many.
size_t intersectPostings(Text postings, size_t from, size_t to, uint32_t* units, size_t count);

}  // namespace trawl
