#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace trawl {

// Builds posting lists in three steps: `gather` reads the text once, then the caller makes room for what the sizes say,
// then `write` fills it. Memory that cannot be had is reported by `gather`.
class PostingsBuilder {
 public:
  PostingsBuilder() = default;
  PostingsBuilder(const PostingsBuilder&) = delete;
  PostingsBuilder& operator=(const PostingsBuilder&) = delete;
  ~PostingsBuilder();

  // `units` holds pairs (from, to) that lie within the text.
  bool gather(Text text, const uint32_t* units, size_t unitCount);

  size_t keyCount() const { return keyCount_; }
  uint64_t byteCount() const { return byteCount_; }

  // `keys` has room for keyCount() numbers, `offsets` for one more, `bytes` for byteCount() bytes.
  void write(uint32_t* keys, uint32_t* offsets, uint8_t* bytes);

 private:
  struct List {
    // Number of the last unit seen + 1; 0 before the first.
    uint32_t lastUnit;
    // While gathering the size in bytes, while writing the place of the next byte.
    uint32_t at;
  };

  bool reserve(size_t more);
  void close(size_t unit, size_t start);

  List* lists_ = nullptr;
  // The distinct trigrams of each unit, one unit after the other.
  uint32_t* trigrams_ = nullptr;
  size_t trigramsCount_ = 0;
  size_t trigramsRoom_ = 0;
  // unitEnds_[i] is the end of unit i in `trigrams_`.
  size_t* unitEnds_ = nullptr;
  size_t unitCount_ = 0;
  size_t keyCount_ = 0;
  uint64_t byteCount_ = 0;
};

// Number of distinct trigrams in [from, to), counted up to limit + 1.
size_t distinctTrigrams(Text text, size_t from, size_t to, size_t limit);

constexpr size_t noRoom = SIZE_MAX;

// Decodes [from, to) of `postings` into `out`; returns how many, or `noRoom` when `out` is too short.
size_t decodePostings(Text postings, size_t from, size_t to, uint32_t* out, size_t outRoom);

// Keeps those of the sorted `units` that are in the list; returns how many.
size_t intersectPostings(Text postings, size_t from, size_t to, uint32_t* units, size_t count);

}  // namespace trawl
