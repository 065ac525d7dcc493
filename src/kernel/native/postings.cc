#include "postings.h"

#include <cstdlib>
#include <cstring>

#include "classes.h"

namespace trawl {
namespace {

// One bit for each trigram, all clear between calls: 256 KiB, which stays in the second-level cache while one table of
// numbers for all trigrams would not.
thread_local uint64_t seen[trigramCount / 64];

void forget(const uint32_t* trigrams, size_t count) {
  for (size_t i = 0; i < count; i++) seen[trigrams[i] >> 6] = 0;
}

// Appends the trigrams of [from, to) that are not in `seen`, and marks them; `out` has room for to - from numbers.
// No branch depends on the text: whether a trigram is new cannot be predicted.
size_t appendUnseen(Text text, size_t from, size_t to, uint32_t* out) {
  if (to - from < 3) return 0;
  size_t count = 0;
  uint32_t trigram = static_cast<uint32_t>(classes.of[text.data[from]]) << 7 | classes.of[text.data[from + 1]];
  for (size_t i = from + 2; i < to; i++) {
    trigram = (trigram << 7 | classes.of[text.data[i]]) & (trigramCount - 1);
    uint64_t word = seen[trigram >> 6];
    out[count] = trigram;
    count += ~(word >> (trigram & 63)) & 1;
    seen[trigram >> 6] = word | uint64_t(1) << (trigram & 63);
  }
  return count;
}

uint32_t varintSize(uint32_t value) {
  return 1 + (value >= 1u << 7) + (value >= 1u << 14) + (value >= 1u << 21) + (value >= 1u << 28);
}

uint8_t* writeVarint(uint8_t* out, uint32_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// The varints of one posting list. A list that breaks off within a number ends before it.
class Varints {
 public:
  Varints(Text postings, size_t from, size_t to) : next_(postings.data + from), end_(postings.data + to) {}

  bool read(uint32_t& value) {
    if (next_ == end_) return false;
    uint32_t byte = *next_++;
    value = byte & 0x7f;
    for (unsigned shift = 7; byte >= 0x80; shift += 7) {
      if (next_ == end_ || shift > 28) return false;
      byte = *next_++;
      value |= (byte & 0x7f) << shift;
    }
    return true;
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

}  // namespace

PostingsBuilder::~PostingsBuilder() {
  free(lists_);
  free(trigrams_);
  free(unitEnds_);
}

bool PostingsBuilder::gather(Text text, const uint32_t* units, size_t unitCount) {
  unitCount_ = unitCount;
  lists_ = static_cast<List*>(calloc(trigramCount, sizeof(List)));
  unitEnds_ = static_cast<size_t*>(malloc((unitCount + 1) * sizeof(size_t)));
  if (lists_ == nullptr || unitEnds_ == nullptr) return false;
  for (size_t unit = 0; unit < unitCount; unit++) {
    size_t from = units[2 * unit], to = units[2 * unit + 1];
    if (!reserve(to - from)) return false;
    size_t start = trigramsCount_;
    trigramsCount_ += appendUnseen(text, from, to, trigrams_ + start);
    close(unit, start);
  }
  return true;
}

// Counts what the unit's trigrams, from `start` on, add to their lists.
void PostingsBuilder::close(size_t unit, size_t start) {
  uint32_t number = static_cast<uint32_t>(unit) + 1;
  for (size_t i = start; i < trigramsCount_; i++) {
    List& list = lists_[trigrams_[i]];
    uint32_t size = varintSize(number - list.lastUnit);
    keyCount_ += list.lastUnit == 0;
    list.lastUnit = number;
    list.at += size;
    byteCount_ += size;
  }
  forget(trigrams_ + start, trigramsCount_ - start);
  unitEnds_[unit] = trigramsCount_;
}

bool PostingsBuilder::reserve(size_t more) {
  if (trigramsRoom_ - trigramsCount_ >= more) return true;
  size_t room = trigramsRoom_ + trigramsRoom_ / 2 + more + 65536;
  void* moved = realloc(trigrams_, room * sizeof(uint32_t));
  if (moved == nullptr) return false;
  trigrams_ = static_cast<uint32_t*>(moved);
  trigramsRoom_ = room;
  return true;
}

void PostingsBuilder::write(uint32_t* keys, uint32_t* offsets, uint8_t* bytes) {
  uint32_t offset = 0;
  size_t key = 0;
  for (uint32_t trigram = 0; trigram < trigramCount; trigram++) {
    List& list = lists_[trigram];
    if (list.lastUnit == 0) continue;
    keys[key] = trigram;
    offsets[key++] = offset;
    uint32_t size = list.at;
    list = {0, offset};
    offset += size;
  }
  offsets[key] = offset;
  size_t i = 0;
  for (size_t unit = 0; unit < unitCount_; unit++) {
    uint32_t number = static_cast<uint32_t>(unit) + 1;
    for (; i < unitEnds_[unit]; i++) {
      List& list = lists_[trigrams_[i]];
      list.at = static_cast<uint32_t>(writeVarint(bytes + list.at, number - list.lastUnit) - bytes);
      list.lastUnit = number;
    }
  }
}

size_t distinctTrigrams(Text text, size_t from, size_t to, size_t limit) {
  // In steps, so that the list of new trigrams is short and a long text is left soon after the limit.
  constexpr size_t step = 4096;
  uint32_t found[step];
  size_t last = 0, distinct = 0;
  for (size_t at = from; at + 2 < to && distinct <= limit; at += step - 2) {
    last = appendUnseen(text, at, to - at > step ? at + step : to, found);
    distinct += last;
  }
  if (last == distinct) forget(found, last);
  else memset(seen, 0, sizeof seen);
  return distinct <= limit ? distinct : limit + 1;
}

size_t decodePostings(Text postings, size_t from, size_t to, uint32_t* out, size_t outRoom) {
  Varints deltas(postings, from, to);
  uint32_t unit = UINT32_MAX;  // One before unit 0.
  uint32_t delta;
  size_t count = 0;
  while (deltas.read(delta)) {
    if (count == outRoom) return noRoom;
    unit += delta;
    out[count++] = unit;
  }
  return count;
}

size_t intersectPostings(Text postings, size_t from, size_t to, uint32_t* units, size_t count) {
  Varints deltas(postings, from, to);
  uint32_t unit = UINT32_MAX;
  uint32_t delta;
  size_t kept = 0, i = 0;
  while (i < count && deltas.read(delta)) {
    unit += delta;
    while (i < count && units[i] < unit) i++;
    if (i < count && units[i] == unit) units[kept++] = units[i++];
  }
  return kept;
}

}  // namespace trawl
