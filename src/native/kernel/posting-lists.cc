// Finds the posting lists of a literal, the units that are in all of them, and the contents of those units.
#include <algorithm>

#include "postings.h"

namespace trawl {

// Inserts a list, unless it is among `lists`, which are sorted by length: there are few. Returns how many there are.
static size_t insertList(const PostingLists& shard, uint32_t list, uint32_t* lists, size_t found) {
  const uint32_t bytes = shard.starts[list + 1] - shard.starts[list];
  size_t place = found;
  for (size_t i = 0; i < found; i++) {
    if (lists[i] == list) return found;
    if (place == found && shard.starts[lists[i] + 1] - shard.starts[lists[i]] > bytes) place = i;
  }
  for (size_t i = found; i > place; i--) lists[i] = lists[i - 1];
  lists[place] = list;
  return found + 1;
}

// Writes to `places` the index of the first key of the shard, which has some, that is not less than each of `wanted`,
// or of the last key. The searches
// proceed together, one step of each at a time, so that their cache misses overlap: half the time for 24 trigrams.
static void lowerBounds(const PostingLists& shard, const uint32_t* wanted, size_t wantedCount, uint32_t* places) {
  for (size_t i = 0; i < wantedCount; i++) places[i] = 0;
  for (size_t left = shard.count; left > 1;) {
    const size_t half = left / 2;
    for (size_t i = 0; i < wantedCount; i++) {
      const uint32_t* keys = shard.keys + places[i];
      places[i] += keys[half - 1] < wanted[i] ? static_cast<uint32_t>(half) : 0;
    }
    left -= half;
  }
}

size_t findLists(const PostingLists& shard, Text literal, uint32_t* lists) {
  constexpr size_t together = 64;
  uint32_t keys[together], places[together];
  size_t found = 0;
  if (shard.count == 0) return 0;
  for (size_t from = 0; from + 3 <= literal.length; from += together) {
    size_t count = 0;
    for (size_t at = from; at + 3 <= literal.length && count < together; at++) {
      const uint8_t* text = literal.data + at;
      keys[count++] = static_cast<uint32_t>(classes.of[text[0]]) << 14 |
                      static_cast<uint32_t>(classes.of[text[1]]) << 7 | classes.of[text[2]];
    }
    lowerBounds(shard, keys, count, places);
    for (size_t i = 0; i < count; i++) {
      if (shard.keys[places[i]] != keys[i]) return 0;
      found = insertList(shard, places[i], lists, found);
    }
  }
  return found;
}

size_t unitsOfLists(Text postings, const uint32_t* starts, size_t startCount, const uint32_t* lists, size_t listCount,
                    uint32_t* units, size_t room) {
  size_t count = 0;
  for (size_t i = 0; i < listCount && i <= mergedListsMax; i++) {
    if (lists[i] + size_t(1) >= startCount) return noRoom;
    const size_t from = starts[lists[i]], to = starts[lists[i] + 1];
    if (from > to || to > postings.length) return noRoom;
    if (i == 0) {
      count = decodePostings(postings, from, to, units, room);
      if (count == noRoom) return noRoom;
    } else {
      if (to - from > count * mergeBytesPerUnit) break;
      count = intersectPostings(postings, from, to, units, count);
    }
  }
  return count;
}

// Most units are near the one before: the search begins with steps of one, two, four contents and so on.
size_t contentsOfUnits(const uint32_t* units, size_t unitCount, const uint32_t* firstUnits, size_t contentCount,
                       uint32_t* out, size_t room) {
  size_t count = 0;
  size_t next = 0;  // The first content that begins after the unit.
  uint32_t end = 0;
  for (size_t i = 0; i < unitCount; i++) {
    const uint32_t unit = units[i];
    if (unit < end) continue;
    size_t step = 1;
    while (next + step <= contentCount && firstUnits[next + step] <= unit) {
      next += step;
      step *= 2;
    }
    const uint32_t* from = firstUnits + next;
    const uint32_t* to = firstUnits + std::min(next + step, contentCount + 1);
    next = std::upper_bound(from, to, unit) - firstUnits;
    if (next > contentCount) break;
    if (next == 0) continue;
    if (count == room) return noRoom;
    out[count++] = uint32_t(next - 1);
    end = firstUnits[next];
  }
  return count;
}

}  // namespace trawl
