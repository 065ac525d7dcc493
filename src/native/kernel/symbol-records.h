// Reads the records of symbols, which src/shard/symbols/FORMAT.md describes. Nothing is read beyond a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bytes.h"

namespace trawl {

// Varints and bytes of one record. After a read beyond its end, `sound` is false and stays false.
struct RecordCursor {
  Text record;
  size_t at = 0;
  bool sound = true;

  // Most numbers of a record have one byte.
  uint64_t number() {
    return at < record.length && record.data[at] < 0x80 ? record.data[at++] : longNumber();
  }

  uint64_t longNumber() {
    uint64_t value = 0;
    for (unsigned shift = 0; sound; shift += 7) {
      if (at >= record.length || shift > 35) break;
      const uint8_t byte = record.data[at++];
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    sound = false;
    return 0;
  }

  // Passes over bytes, and returns where they begin.
  size_t skip(uint64_t count) {
    const size_t from = at;
    if (count > record.length - at) sound = false;
    else at += count;
    return from;
  }
};

// Where a walk over the symbols of a record is, and the symbol before that place. All zero before the first symbol.
struct SymbolPlace {
  // In the record.
  uint32_t at;
  uint32_t symbolsLeft;
  // The end, in the text, of the last name that is there.
  uint32_t textEnd;
  // As in the record, but never 0: that of the last symbol with one.
  uint32_t reference;
  // Where the next name begins among the names.
  uint32_t nameStart;
};

// The symbols of one record, in order.
class SymbolWalk {
 public:
  // Of the current symbol: where its name begins among the names, and its size.
  uint32_t nameStart = 0;
  uint32_t length = 0;
  // Whether the name is in the record at `storedFrom`; otherwise it is in the text at `from`.
  bool isStored = false;
  size_t storedFrom = 0;
  uint32_t from = 0;
  // Of a name that is in the record: the line of the symbol, from 1.
  uint32_t line = 0;
  uint32_t kind = 0;

  SymbolWalk(Text record, size_t textFrom, size_t textTo) : cursor_{record}, textFrom_(textFrom), textTo_(textTo) {}

  // Continues at this place, which an earlier walk over the same record was at. False if the record is damaged.
  bool start(const SymbolPlace& place) {
    if (place.at != 0) {
      cursor_.at = place.at;
      place_ = place;
      return true;
    }
    place_ = {0, 0, static_cast<uint32_t>(textFrom_), 1, 0};
    if (cursor_.record.length == 0) return true;
    const uint64_t count = cursor_.number();
    if (count > cursor_.record.length) return false;
    place_.symbolsLeft = static_cast<uint32_t>(count);
    for (uint64_t left = cursor_.number(); left > 0 && cursor_.sound; left--) cursor_.skip(cursor_.number());
    place_.at = static_cast<uint32_t>(cursor_.at);
    return cursor_.sound;
  }

  const SymbolPlace& place() const { return place_; }
  bool isAtEnd() const { return place_.symbolsLeft == 0; }
  uint32_t reference() const { return place_.reference; }

  // Reads the next symbol. False if there is none, or if the record is damaged.
  bool next() {
    if (place_.symbolsLeft == 0) return false;
    const uint64_t head = cursor_.number(), size = cursor_.number();
    isStored = head % 2 == 1;
    uint64_t end = place_.textEnd;
    if (isStored) {
      storedFrom = cursor_.skip(size);
    } else {
      const uint64_t start = end + head / 2;
      end = start + size;
      from = static_cast<uint32_t>(start);
      if (end > textTo_) return false;
    }
    const uint64_t given = cursor_.number(), givenKind = cursor_.number();
    const uint64_t nextStart = place_.nameStart + size + 1;
    if (!cursor_.sound || head / 2 > UINT32_MAX || given > UINT32_MAX || givenKind > UINT32_MAX || nextStart > UINT32_MAX)
      return false;
    line = static_cast<uint32_t>(head / 2);
    length = static_cast<uint32_t>(size);
    kind = static_cast<uint32_t>(givenKind);
    nameStart = place_.nameStart;
    place_.at = static_cast<uint32_t>(cursor_.at);
    place_.symbolsLeft--;
    place_.textEnd = static_cast<uint32_t>(end);
    if (given != 0) place_.reference = static_cast<uint32_t>(given);
    place_.nameStart = static_cast<uint32_t>(nextStart);
    return true;
  }

  // Passes over the next symbols whose names are in the text and end before `before`, as far as their numbers are short: at
  // most `countMax`. Returns how many; none of them is the current symbol.
  size_t skipNames(size_t before, size_t countMax) {
    constexpr size_t numberBytes = 5;
    const uint8_t* const data = cursor_.record.data;
    size_t at = cursor_.at, passed = 0;
    uint64_t end = place_.textEnd, names = place_.nameStart;
    uint32_t reference = place_.reference;
    while (passed < countMax && passed < place_.symbolsLeft && cursor_.record.length - at >= numberBytes) {
      const uint32_t isLong = data[at] >> 7;
      const uint64_t head = (data[at] & 0x7f) | isLong * (static_cast<uint64_t>(data[at + 1]) << 7);
      // The last byte of the head, the size, the reference and the kind.
      const uint8_t* const bytes = data + at + isLong;
      if (((bytes[0] | bytes[1] | bytes[2] | bytes[3]) & 0x80) != 0 || head % 2 == 1) break;
      const uint32_t size = bytes[1], given = bytes[2];
      const uint64_t next = end + head / 2 + size;
      if (next >= before || next > textTo_) break;
      end = next;
      names += size + 1;
      if (given != 0) reference = given;
      at += 4 + isLong;
      passed++;
    }
    if (names > UINT32_MAX) return 0;
    cursor_.at = at;
    place_ = {static_cast<uint32_t>(at), place_.symbolsLeft - static_cast<uint32_t>(passed), static_cast<uint32_t>(end), reference, static_cast<uint32_t>(names)};
    return passed;
  }

  // Reads on to the symbol whose name begins at `start`. False if there is none, as for a difference below zero.
  bool seek(size_t start) {
    while (place_.nameStart <= start) {
      if (!next()) return false;
      if (nameStart == start) return true;
    }
    return false;
  }

 private:
  RecordCursor cursor_;
  size_t textFrom_;
  size_t textTo_;
  SymbolPlace place_ = {};
};

// The containers of one record, found when the first one is wanted.
class Containers {
 public:
  explicit Containers(Text record) : record_(record) {}

  // Finds container `number` as a range of the record. False if there is none.
  bool find(size_t number, size_t* from, size_t* to) {
    if (starts_.empty() && !list()) return false;
    if (2 * number + 1 >= starts_.size()) return false;
    *from = starts_[2 * number];
    *to = starts_[2 * number + 1];
    return true;
  }

 private:
  bool list() {
    RecordCursor cursor = {record_};
    cursor.number();
    for (uint64_t left = cursor.number(); left > 0; left--) {
      const uint64_t size = cursor.number();
      const size_t start = cursor.skip(size);
      if (!cursor.sound) return false;
      starts_.push_back(static_cast<uint32_t>(start));
      starts_.push_back(static_cast<uint32_t>(cursor.at));
    }
    return cursor.sound;
  }

  Text record_;
  // Pairs (start, end).
  std::vector<uint32_t> starts_;
};

}  // namespace trawl
