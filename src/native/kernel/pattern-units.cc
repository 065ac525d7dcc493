// Finds the units of a shard in which some of many literals can start.
#include <algorithm>
#include <vector>

#include "patterns.h"
#include "postings.h"

namespace trawl {
namespace {

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
      // The trigrams of these first bytes are all attributed to the unit in which the literal starts.
      if (!listsOf(job_.literals.data + from, std::min(to - from, overlapBytes), lists)) continue;
      // The units are allocated by the length of this list.
      if (!isSound(lists.of[0])) return UnitsEnd::misuse;
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

  bool isSound(uint32_t list) const {
    return job_.shard.starts[list] <= job_.shard.starts[list + 1] && job_.shard.starts[list + 1] <= job_.postings.length;
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

UnitsEnd unitsOfPatterns(PatternUnits& job) { return UnitsOfLiterals(job).run(); }

}  // namespace trawl
