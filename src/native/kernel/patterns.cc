// A text is compared with all literals at once by hashing windows of it, as in the multiple pattern search of Karp and
// Rabin (1987); only every `stride`-th window is looked at, because the tables hold that many windows of each literal.
#include "patterns.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "classes.h"

// The compiler would hash four windows with vector instructions that lack a multiplication, at half the speed.
#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")

namespace trawl {
namespace {

// Lowers A-Z in eight bytes at once.
inline uint64_t lowered(uint64_t bytes) {
  constexpr uint64_t ones = 0x0101010101010101u, high = 0x80 * ones;
  const uint64_t low = bytes & ~high;
  const uint64_t fromA = low + (0x80 - 'A') * ones;
  const uint64_t pastZ = low + (0x7f - 'Z') * ones;
  return bytes | ((fromA & ~pastZ & ~bytes & high) >> 2);
}

inline uint8_t lowered(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; }

// The same as in pattern-table.ts.
inline uint32_t hashOf(uint64_t window) {
  return static_cast<uint32_t>(window) * 0x9e3779b1u + static_cast<uint32_t>(window >> 32) * 0x85ebca77u;
}

size_t bitsOf(size_t powerOfTwo) { return static_cast<size_t>(__builtin_ctzll(powerOfTwo)); }

bool isPowerOfTwo(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

struct Range {
  size_t from, to, end;
};

template <bool fold>
class Scan {
 public:
  explicit Scan(const WindowScan& job)
      : job_(job), mask_(~uint64_t(0) >> (64 - 8 * job.windowBytes)),
        filterShift_(32 - bitsOf(job.filter.length)), bucketShift_(32 - bitsOf(job.buckets.length - 1)),
        work_(job.cursor[3]), hitCount_(job.cursor[2]) {}

  ScanEnd run() {
    size_t range = job_.cursor[0], next = job_.cursor[1], left = job_.workMax, lastEnd = 0;
    if (range > 0 && range < job_.rangeCount) lastEnd = at(range).end;
    for (; range < job_.rangeCount; range++, next = 0) {
      const Range r = at(range);
      if (r.from > r.to || r.to > r.end || r.end > job_.text.length) return ScanEnd::misuse;
      if (r.end != lastEnd && next == 0) work_ = 0;
      lastEnd = r.end;
      size_t position = std::max(next, (r.from + job_.stride - 1) / job_.stride * job_.stride);
      while (position < r.to + job_.stride - 1 && position + job_.windowBytes <= r.end) {
        const size_t workBefore = work_;
        const size_t until = std::min({position + left, r.to + job_.stride - 1, r.end - job_.windowBytes + 1});
        const size_t stopped = findCandidate(position, until);
        work_ += stopped - position;
        position = stopped;
        if (stopped < until) {
          const ScanEnd end = verify(stopped, r);
          if (end == ScanEnd::misuse) return end;
          if (end == ScanEnd::paused) return pause(range, stopped);
          position += job_.stride;
        }
        const size_t spent = std::max<size_t>(1, work_ - workBefore);
        if (spent >= left) return pause(range, position);
        left -= spent;
      }
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

  uint64_t windowAt(size_t position) const {
    uint64_t window = 0;
    if (job_.text.length - position >= 8) memcpy(&window, job_.text.data + position, 8);
    else memcpy(&window, job_.text.data + position, job_.text.length - position);
    if (fold) window = lowered(window);
    return window & mask_;
  }

  // The first of the windows at `position`, `position + stride` and so on, before `until`, that the filter passes;
  // `until` or a little more if there is none.
  size_t findCandidate(size_t position, size_t until) const {
    // Without a branch for each window: four of them are looked at together.
    constexpr size_t together = 4;
    const size_t stride = job_.stride, step = together * stride;
    const uint8_t* text = job_.text.data;
    while (position < until) {
      if (position + step <= until && position + step + 8 <= job_.text.length) {
        const uint8_t* at = text + position;
        const uint32_t a = passes(hashOf(wholeWindow(at))), b = passes(hashOf(wholeWindow(at + stride)));
        const uint32_t c = passes(hashOf(wholeWindow(at + 2 * stride))), d = passes(hashOf(wholeWindow(at + 3 * stride)));
        if ((a | b | c | d) == 0) {
          position += step;
          continue;
        }
      }
      const size_t end = std::min(position + step, until);
      for (; position < end; position += stride) {
        if (passes(hashOf(windowAt(position)))) return position;
      }
    }
    return position;
  }

  // Whether the filter has both bits of the window, which are in one word.
  uint32_t passes(uint32_t hash) const {
    const uint32_t word = job_.filter.data[hash >> filterShift_];
    return word >> (hash >> 12 & 31) & word >> (hash >> 7 & 31) & 1;
  }

  uint64_t wholeWindow(const uint8_t* text) const {
    uint64_t window;
    memcpy(&window, text, sizeof window);
    return (fold ? lowered(window) : window) & mask_;
  }

  // Compares the text with the literals that have the window at `position`. Paused if not all of them may fit.
  ScanEnd verify(size_t position, const Range& range) {
    const uint32_t bucket = hashOf(windowAt(position)) >> bucketShift_;
    const size_t from = job_.buckets.data[bucket], to = job_.buckets.data[bucket + 1];
    if (from > to || to > job_.entries.length / 2) return ScanEnd::misuse;
    if (job_.hitCapacity - hitCount_ < to - from) return ScanEnd::paused;
    for (size_t i = from; i < to; i++) {
      const uint32_t literal = job_.entries.data[2 * i], offset = job_.entries.data[2 * i + 1];
      if (literal + size_t(1) >= job_.starts.length) return ScanEnd::misuse;
      const size_t first = job_.starts.data[literal], last = job_.starts.data[literal + 1];
      if (first > last || last > job_.literals.length) return ScanEnd::misuse;
      work_++;
      if (position < range.from + offset || position >= range.to + offset) continue;
      const size_t start = position - offset, length = last - first;
      if (start + length > range.end || start < job_.ends[literal]) continue;
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
    size_t i = 0;
    if (fold) while (i < length && literal[i] == lowered(text[i])) i++;
    else while (i < length && literal[i] == text[i]) i++;
    work_ += i;
    return i == length;
  }

  const WindowScan& job_;
  const uint64_t mask_;
  const unsigned filterShift_, bucketShift_;
  size_t work_;
  size_t hitCount_;
};

// The index of each trigram among the keys of the shard, or `absent`. Both are ascending.
constexpr uint32_t absent = UINT32_MAX;

std::vector<uint32_t> placesOf(const PostingLists& shard, const WordList& trigrams) {
  std::vector<uint32_t> places(trigrams.length, absent);
  const uint32_t* next = shard.keys;
  const uint32_t* const end = shard.keys + shard.count;
  for (size_t i = 0; i < trigrams.length && next < end; i++) {
    size_t step = 1;
    while (next + step < end && next[step] < trigrams.data[i]) next += step, step *= 2;
    next = std::lower_bound(next, std::min(next + step + 1, end), trigrams.data[i]);
    if (next < end && *next == trigrams.data[i]) places[i] = static_cast<uint32_t>(next - shard.keys);
  }
  return places;
}

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

enum class Found { lists, nothing, noTrigram, misuse };

Found listsOf(const PatternUnits& job, const std::vector<uint32_t>& places, size_t literal, Lists& lists) {
  const size_t from = job.sets.starts.data[literal], to = job.sets.starts.data[literal + 1];
  if (from > to || to > job.sets.numbers.length) return Found::misuse;
  if (from == to) return Found::noTrigram;
  lists.count = 0;
  for (size_t i = from; i < to; i++) {
    const uint32_t number = job.sets.numbers.data[i];
    if (number >= places.size()) return Found::misuse;
    if (places[number] == absent) return Found::nothing;
    lists.add(job.shard, places[number]);
  }
  return Found::lists;
}

}  // namespace

ScanEnd scanWindows(const WindowScan& job) {
  if (!isPowerOfTwo(job.filter.length) || job.filter.length == 1 || !isPowerOfTwo(job.buckets.length - 1)) return ScanEnd::misuse;
  if (bitsOf(job.filter.length) > 31 || bitsOf(job.buckets.length - 1) > 31) return ScanEnd::misuse;
  if (job.buckets.length < 3 || job.windowBytes == 0 || job.windowBytes > 8 || job.stride == 0) return ScanEnd::misuse;
  return job.fold ? Scan<true>(job).run() : Scan<false>(job).run();
}

UnitsEnd unitsOfPatterns(PatternUnits& job) {
  const std::vector<uint32_t> places = placesOf(job.shard, job.sets.trigrams);
  const size_t literalCount = job.sets.starts.length - 1;
  std::vector<Lists> found;
  size_t cost = 0, longest = 0;
  for (size_t literal = 0; literal < literalCount; literal++) {
    Lists lists;
    const Found end = listsOf(job, places, literal, lists);
    if (end == Found::misuse) return UnitsEnd::misuse;
    if (end == Found::noTrigram) return UnitsEnd::unknown;
    if (end == Found::nothing) continue;
    const size_t bytes = job.shard.starts[lists.of[0] + 1] - job.shard.starts[lists.of[0]];
    cost += bytes;
    longest = std::max(longest, bytes);
    if (cost > job.costMax) return UnitsEnd::unknown;
    found.push_back(lists);
  }
  std::vector<uint32_t> units(longest);
  for (const Lists& lists : found) {
    const size_t count = unitsOfLists(job.postings, job.shard.starts, job.shard.count + 1, lists.of, lists.count,
                                      units.data(), units.size());
    if (count == noRoom) return UnitsEnd::misuse;
    for (size_t i = 0; i < count; i++) {
      if (units[i] / 32 >= job.unitWords) return UnitsEnd::misuse;
      job.units[units[i] / 32] |= 1u << (units[i] % 32);
    }
  }
  job.totals[0] = static_cast<uint32_t>(found.size());
  job.totals[1] = static_cast<uint32_t>(std::min<size_t>(cost, UINT32_MAX));
  return UnitsEnd::found;
}

void sortTriples(uint32_t* triples, size_t count) {
  struct Triple {
    uint32_t start, end, label;
  };
  Triple* first = reinterpret_cast<Triple*>(triples);
  std::sort(first, first + count, [](const Triple& a, const Triple& b) {
    if (a.start != b.start) return a.start < b.start;
    return a.end != b.end ? a.end > b.end : a.label < b.label;
  });
}

}  // namespace trawl
