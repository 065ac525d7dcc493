// A text is compared with all literals at once by hashing windows of it, as in the multiple pattern search of Karp and
// Rabin (1987). Only every `stride`-th window is looked at, because a filter has all windows of the block of each literal.
// At the positions where a window passes, the blocks that contain it are hashed, and the literals that have the hash of a
// block are compared with the text. Each step writes the positions for the next one to a list: that takes a third of the
// time of deciding about one position after the other, because the processor predicts no branch wrongly and waits for
// several positions at once.
#include "patterns.h"

#include <algorithm>
#include <cstring>

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
      keepBlocksOfLiterals();
      const ScanEnd compared = compareBlocks(r, next);
      if (compared != ScanEnd::done) return compared;
      next = until;
    }
    return ScanEnd::done;
  }

  // Removes the blocks whose bucket is empty from the list, notes the buckets of the others, and fetches what is read of
  // them: a comparison would wait for each of these reads, and then for a wrongly predicted branch.
  void keepBlocksOfLiterals() {
    const WordList &buckets = job_.group.buckets, &entries = job_.group.entries;
    for (size_t i = 0; i < foundCount_; i++) {
      buckets_[i] = blockHashAt<fold>(job_.text, found_[i], blockBytes_) >> bucketShift_;
      __builtin_prefetch(buckets.data + buckets_[i]);
    }
    size_t kept = 0;
    for (size_t i = 0; i < foundCount_; i++) {
      const uint32_t bucket = buckets_[i], from = buckets[bucket];
      found_[kept] = found_[i];
      buckets_[kept] = bucket;
      kept += from != buckets[bucket + 1];
      __builtin_prefetch(entries.data + 2 * size_t(from));
    }
    foundCount_ = kept;
    for (size_t i = 0; i < foundCount_; i++) {
      const size_t literal = firstLiteral(buckets_[i]);
      __builtin_prefetch(job_.starts.data + literal);
      __builtin_prefetch(job_.ends + literal);
    }
    for (size_t i = 0; i < foundCount_; i++) {
      const size_t literal = firstLiteral(buckets_[i]);
      if (literal < job_.starts.length) __builtin_prefetch(job_.literals.data + job_.starts[literal]);
    }
  }

  uint32_t firstLiteral(uint32_t bucket) const {
    const size_t entry = 2 * size_t(job_.group.buckets[bucket]);
    return entry < job_.group.entries.length ? job_.group.entries[entry] : 0;
  }

  // Compares the text with the literals that have one of the blocks that are listed. If it is paused, `next` is the next
  // block.
  ScanEnd compareBlocks(const Range& range, size_t& next) {
    for (size_t i = 0; i < foundCount_; i++) {
      // Each call compares one block at least.
      const ScanEnd end = i > 0 && isSpent() ? ScanEnd::paused : compareBlock(found_[i], buckets_[i], range);
      if (end == ScanEnd::done) continue;
      next = found_[i];
      return end;
    }
    return ScanEnd::done;
  }

  // Paused if not all literals that have the block may fit.
  ScanEnd compareBlock(size_t block, uint32_t bucket, const Range& range) {
    const WordList& buckets = job_.group.buckets;
    const WordList& entries = job_.group.entries;
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
  // By block in the list: the bucket of its literals.
  uint32_t buckets_[stepBytes + 16];
};

bool isFilter(const WordList& words) { return isPowerOfTwo(words.length) && words.length > 1; }

}  // namespace

ScanEnd scanWindows(const WindowScan& job) {
  const WindowGroup& group = job.group;
  if (!isFilter(group.windowFilter) || !isFilter(group.blockFilter)) return ScanEnd::misuse;
  if (group.buckets.length < 3 || !isPowerOfTwo(group.buckets.length - 1)) return ScanEnd::misuse;
  if (group.windowBytes == 0 || group.windowBytes > 8) return ScanEnd::misuse;
  if (!isPowerOfTwo(group.stride) || group.stride > 8) return ScanEnd::misuse;
  return job.fold ? Scan<true>(job).run() : Scan<false>(job).run();
}

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
