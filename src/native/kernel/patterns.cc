// A text is compared with all literals at once by hashing windows of it, as in the multiple pattern search of Karp and
// Rabin (1987). Only every `stride`-th window is looked at, because a filter has all windows of the block of each literal.
// At the positions where a window passes, the blocks that contain it are hashed, and the literals that have the hash of a
// block are compared with the text. Each step writes the positions for the next one to a list: that takes a third of the
// time of deciding about one position after the other, because the processor predicts no branch wrongly and waits for
// several positions at once.
#include "patterns.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "classes.h"
#include "windows.h"

namespace trawl {
namespace {

inline uint8_t lowered(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

size_t bitsOf(size_t powerOfTwo) { return static_cast<size_t>(__builtin_ctzll(powerOfTwo)); }

bool isPowerOfTwo(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

HashFilter filterOf(const WordList& words) { return {words.data, static_cast<unsigned>(32 - bitsOf(words.length))}; }

struct Range {
  size_t from, to, end;
};

// The blocks of one step begin at this many positions: the lists stay in the processor's first caches.
constexpr size_t stepBytes = 8192;

template <bool fold>
class Scan {
 public:
  explicit Scan(const WindowScan& job)
      : job_(job), windows_(filterOf(job.group.windowFilter)), blocks_(filterOf(job.group.blockFilter)),
        bucketShift_(static_cast<unsigned>(32 - bitsOf(job.group.buckets.length - 1))),
        blockBytes_(job.group.windowBytes + job.group.stride - 1),
        work_(job.cursor[3]), hitCount_(job.cursor[2]) {}

  ScanEnd run() {
    size_t range = job_.cursor[0], next = job_.cursor[1], lastEnd = 0;
    if (range > 0 && range < job_.rangeCount) lastEnd = at(range).end;
    for (; range < job_.rangeCount; range++, next = 0) {
      const Range r = at(range);
      if (r.from > r.to || r.to > r.end || r.end > job_.text.length) return ScanEnd::misuse;
      if (r.end != lastEnd && next == 0) work_ = 0;
      lastEnd = r.end;
      const ScanEnd end = searchRange(r, next);
      if (end == ScanEnd::misuse) return end;
      if (end == ScanEnd::paused) return pause(range, next);
    }
    pause(range, 0);
    return ScanEnd::done;
  }

 private:
  Range at(size_t range) const {
    const uint32_t* words = job_.ranges + 3 * range;
    return {words[0], words[1], words[2]};
  }

  ScanEnd pause(size_t range, size_t position) {
    job_.cursor[0] = static_cast<uint32_t>(range);
    job_.cursor[1] = static_cast<uint32_t>(position);
    job_.cursor[2] = static_cast<uint32_t>(hitCount_);
    job_.cursor[3] = static_cast<uint32_t>(std::min<size_t>(work_, UINT32_MAX));
    return ScanEnd::paused;
  }

  bool isSpent() const { return spent_ >= job_.workMax; }

  void spend(size_t work) {
    work_ += work;
    spent_ += work;
  }

  // Searches for literals whose block begins at `next` or later. If it is paused, `next` is the next block.
  ScanEnd searchRange(const Range& r, size_t& next) {
    next = std::max(next, r.from);
    if (r.end - r.from < blockBytes_) return ScanEnd::done;
    const size_t end = std::min(r.to + job_.group.offsetMax, r.end - blockBytes_ + 1);
    while (next < end) {
      if (isSpent()) return ScanEnd::paused;
      const size_t until = std::min(end, next + stepBytes);
      foundCount_ = job_.loops->findBlocks({job_.text, next, until, job_.group.windowBytes, job_.group.stride, fold,
                                            windows_, blocks_, passed_, found_});
      spend(until - next);
      const ScanEnd compared = compareBlocks(r, next);
      if (compared != ScanEnd::done) return compared;
      next = until;
    }
    return ScanEnd::done;
  }

  // Compares the text with the literals that have one of the blocks that are listed. If it is paused, `next` is the next
  // block.
  ScanEnd compareBlocks(const Range& range, size_t& next) {
    for (size_t i = 0; i < foundCount_; i++) {
      // Each call compares one block at least.
      const ScanEnd end = i > 0 && isSpent() ? ScanEnd::paused : compareBlock(found_[i], range);
      if (end == ScanEnd::done) continue;
      next = found_[i];
      return end;
    }
    return ScanEnd::done;
  }

  // Paused if not all literals that have the block may fit.
  ScanEnd compareBlock(size_t block, const Range& range) {
    const WordList& buckets = job_.group.buckets;
    const WordList& entries = job_.group.entries;
    const uint32_t bucket = blockHashAt<fold>(job_.text, block, blockBytes_) >> bucketShift_;
    const size_t from = buckets[bucket], to = buckets[bucket + 1];
    if (from > to || to > entries.length / 2) return ScanEnd::misuse;
    if (job_.hitCapacity - hitCount_ < to - from) return ScanEnd::paused;
    for (size_t i = from; i < to; i++) {
      const uint32_t literal = entries[2 * i], offset = entries[2 * i + 1];
      if (literal + size_t(1) >= job_.starts.length) return ScanEnd::misuse;
      const size_t first = job_.starts[literal], last = job_.starts[literal + 1];
      if (first > last || last > job_.literals.length) return ScanEnd::misuse;
      spend(1);
      if (block < range.from + offset || block >= range.to + offset) continue;
      const size_t start = block - offset, length = last - first;
      if (length > range.end - start || start < job_.ends[literal]) continue;
      if (!isEqual(job_.literals.data + first, job_.text.data + start, length)) continue;
      job_.ends[literal] = static_cast<uint32_t>(start + length);
      uint32_t* hit = job_.hits + 3 * hitCount_++;
      hit[0] = static_cast<uint32_t>(start);
      hit[1] = static_cast<uint32_t>(start + length);
      hit[2] = literal;
    }
    return ScanEnd::done;
  }

  bool isEqual(const uint8_t* literal, const uint8_t* text, size_t length) {
    const size_t equal = equalBytes(literal, text, length);
    spend(equal);
    return equal == length;
  }

  static size_t equalBytes(const uint8_t* literal, const uint8_t* text, size_t length) {
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
      uint64_t a, b;
      memcpy(&a, literal + i, sizeof a);
      memcpy(&b, text + i, sizeof b);
      const uint64_t different = a ^ (fold ? loweredBytes(b) : b);
      if (different != 0) return i + static_cast<size_t>(__builtin_ctzll(different)) / 8;
    }
    while (i < length && literal[i] == (fold ? lowered(text[i]) : text[i])) i++;
    return i;
  }

  const WindowScan& job_;
  const HashFilter windows_, blocks_;
  const unsigned bucketShift_;
  const size_t blockBytes_;
  size_t work_, spent_ = 0;
  size_t hitCount_, foundCount_ = 0;
  // The positions of windows, and those of blocks.
  uint32_t passed_[stepBytes / 2 + 16];
  uint32_t found_[stepBytes + 16];
};

bool isFilter(const WordList& words) { return isPowerOfTwo(words.length) && words.length > 1 && bitsOf(words.length) < 32; }

// Finds the posting list of one trigram after the other: the lists of equal upper bits are next to each other.
class ListFinder {
 public:
  explicit ListFinder(const PostingLists& shard) : shard_(shard), firsts_((trigramCount >> lowerBits) + 1) {
    size_t list = 0;
    for (size_t upper = 0; upper < firsts_.size(); upper++) {
      while (list < shard.count && shard.keys[list] >> lowerBits < upper) list++;
      firsts_[upper] = static_cast<uint32_t>(list);
    }
  }

  // The list's number, or `absent`.
  uint32_t find(const uint8_t* text) const {
    const uint32_t key = static_cast<uint32_t>(classes.of[text[0]]) << 14 |
                         static_cast<uint32_t>(classes.of[text[1]]) << 7 | classes.of[text[2]];
    const uint32_t* const end = shard_.keys + firsts_[(key >> lowerBits) + 1];
    const uint32_t* const found = std::lower_bound(shard_.keys + firsts_[key >> lowerBits], end, key);
    return found < end && *found == key ? static_cast<uint32_t>(found - shard_.keys) : absent;
  }

  static constexpr uint32_t absent = UINT32_MAX;

 private:
  static constexpr unsigned lowerBits = 7;

  const PostingLists& shard_;
  std::vector<uint32_t> firsts_;
};

// At most this many lists of a literal are looked at after its shortest one.
constexpr size_t mergedListsMax = 5;

struct Lists {
  uint32_t of[mergedListsMax + 1];
  size_t count = 0;

  // Keeps the shortest lists, ascending, each once.
  void add(const PostingLists& shard, uint32_t list) {
    const auto bytes = [&](uint32_t i) { return shard.starts[i + 1] - shard.starts[i]; };
    if (std::find(of, of + count, list) != of + count) return;
    size_t at = count;
    while (at > 0 && bytes(of[at - 1]) > bytes(list)) at--;
    if (at > mergedListsMax) return;
    if (count <= mergedListsMax) count++;
    for (size_t i = count - 1; i > at; i--) of[i] = of[i - 1];
    of[at] = list;
  }
};

// The trigrams of these first bytes of a literal are all attributed to the unit in which it starts.
constexpr size_t overlapBytes = 64;

// With more literals than twice this, so many are looked up first: whether the units cost too much, or are most of those
// of the shard, is mostly clear then.
constexpr size_t sampledLiterals = 64;

// A literal costs at least as much as this many bytes of posting lists.
constexpr size_t literalCost = 64;

class UnitsOfLiterals {
 public:
  explicit UnitsOfLiterals(PatternUnits& job) : job_(job), finder_(job.shard) {}

  UnitsEnd run() {
    const size_t step = (job_.literalTo - job_.literalFrom) / sampledLiterals;
    if (step > 1) {
      // Twice as much: a sample is not exact.
      const UnitsEnd sampled = find(step, 2 * job_.costMax / step);
      if (sampled != UnitsEnd::found) return sampled;
      size_t count = 0;
      const UnitsEnd counted = forEachUnit([&](uint32_t) { count++; });
      if (counted != UnitsEnd::found) return counted;
      if (count * step > 32 * job_.unitWords / 2) return UnitsEnd::unknown;
    }
    const UnitsEnd end = find(1, job_.costMax);
    return end == UnitsEnd::found ? mark() : end;
  }

 private:
  // Sets `found_` to the lists of each literal that can occur. Unknown if that costs more than `costMax`.
  UnitsEnd find(size_t step, size_t costMax) {
    size_t cost = 0;
    found_.clear();
    for (size_t literal = job_.literalFrom; literal < job_.literalTo; literal += step) {
      const size_t from = job_.starts[literal], to = job_.starts[literal + 1];
      if (from > to || to > job_.literals.length) return UnitsEnd::misuse;
      if (to - from < 3) return UnitsEnd::unknown;
      Lists lists;
      if (!listsOf(job_.literals.data + from, std::min(to - from, overlapBytes), lists)) continue;
      cost += literalCost + bytesOf(lists.of[0]);
      if (cost > costMax) return UnitsEnd::unknown;
      found_.push_back(lists);
    }
    return UnitsEnd::found;
  }

  // False if the shard lacks a trigram of the literal.
  bool listsOf(const uint8_t* literal, size_t length, Lists& lists) const {
    for (size_t at = 0; at + 3 <= length; at++) {
      const uint32_t list = finder_.find(literal + at);
      if (list == ListFinder::absent) return false;
      lists.add(job_.shard, list);
    }
    return true;
  }

  size_t bytesOf(uint32_t list) const { return job_.shard.starts[list + 1] - job_.shard.starts[list]; }

  UnitsEnd mark() {
    size_t byteCount = 0;
    for (const Lists& lists : found_) byteCount += bytesOf(lists.of[0]);
    job_.totals[0] = static_cast<uint32_t>(found_.size());
    job_.totals[1] = static_cast<uint32_t>(byteCount);
    return forEachUnit([&](uint32_t unit) { job_.units[unit / 32] |= 1u << (unit % 32); });
  }

  template <class Take>
  UnitsEnd forEachUnit(Take take) {
    size_t longest = 0;
    for (const Lists& lists : found_) longest = std::max(longest, bytesOf(lists.of[0]));
    std::vector<uint32_t> units(longest);
    for (const Lists& lists : found_) {
      const size_t count = unitsOfLists(job_.postings, job_.shard.starts, job_.shard.count + 1, lists.of, lists.count,
                                        units.data(), units.size());
      if (count == noRoom) return UnitsEnd::misuse;
      for (size_t i = 0; i < count; i++) {
        if (units[i] / 32 >= job_.unitWords) return UnitsEnd::misuse;
        take(units[i]);
      }
    }
    return UnitsEnd::found;
  }

  PatternUnits& job_;
  const ListFinder finder_;
  std::vector<Lists> found_;
};

}  // namespace

ScanEnd scanWindows(const WindowScan& job) {
  const WindowGroup& group = job.group;
  if (!isFilter(group.windowFilter) || !isFilter(group.blockFilter)) return ScanEnd::misuse;
  if (group.buckets.length < 3 || !isPowerOfTwo(group.buckets.length - 1)) return ScanEnd::misuse;
  if (group.windowBytes == 0 || group.windowBytes > 8) return ScanEnd::misuse;
  if (!isPowerOfTwo(group.stride) || group.stride > 8) return ScanEnd::misuse;
  return job.fold ? Scan<true>(job).run() : Scan<false>(job).run();
}

UnitsEnd unitsOfPatterns(PatternUnits& job) { return UnitsOfLiterals(job).run(); }

void sortTriples(uint32_t* triples, size_t count) {
  struct Triple {
    uint32_t start, end, label;
  };
  const auto isBefore = [](const Triple& a, const Triple& b) {
    if (a.start != b.start) return a.start < b.start;
    return a.end != b.end ? a.end > b.end : a.label < b.label;
  };
  Triple* first = reinterpret_cast<Triple*>(triples);
  // The occurrences of one group are in the order of their blocks: most have to be moved over a few others only.
  size_t moves = 4 * count;
  for (size_t i = 1; i < count; i++) {
    const Triple moved = first[i];
    size_t at = i;
    for (; at > 0 && moves > 0 && isBefore(moved, first[at - 1]); at--, moves--) first[at] = first[at - 1];
    first[at] = moved;
    if (moves == 0) return std::sort(first, first + count, isBefore);
  }
}

}  // namespace trawl
