#include "inflate.h"

#include <cstring>

namespace trawl {
namespace {

// An entry of a table: the bits of its code in the lowest byte, its extra bits in the next one, its value above, and what it is on
// top. Zero is no code.
constexpr uint32_t isLiteral = 1u << 31, isEnd = 1u << 30, isFurther = 1u << 29, isMatch = 1u << 28;
constexpr unsigned valueAt = 16;
constexpr uint32_t valueMask = 0xfff;

constexpr uint16_t lengthBase[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t lengthExtra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t distanceBase[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t distanceExtra[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
constexpr size_t lengthCodes = sizeof lengthExtra, distanceCodes = sizeof distanceExtra;
constexpr size_t longestMatch = 258, copyBytes = 16;

uint32_t literalEntry(size_t symbol) {
  if (symbol < 256) return isLiteral | static_cast<uint32_t>(symbol) << valueAt;
  if (symbol == 256) return isEnd;
  size_t length = symbol - 257;
  if (length >= lengthCodes) return 0;
  return isMatch | static_cast<uint32_t>(lengthBase[length]) << valueAt | static_cast<uint32_t>(lengthExtra[length]) << 8;
}

// Its value is the symbol, as a distance has too many bits.
uint32_t distanceEntry(size_t symbol) {
  if (symbol >= distanceCodes) return 0;
  return isMatch | static_cast<uint32_t>(symbol) << valueAt | static_cast<uint32_t>(distanceExtra[symbol]) << 8;
}

uint32_t codeLengthEntry(size_t symbol) { return static_cast<uint32_t>(symbol) << valueAt | isLiteral; }

uint32_t reversed(uint32_t code, unsigned length) {
  uint32_t result = 0;
  for (unsigned i = 0; i < length; i++) result |= (code >> i & 1) << (length - 1 - i);
  return result;
}

// Makes the table of a canonical code: false when there is none with these lengths. As with zlib, a code may only be incomplete
// when it has a single symbol or none.
bool makeTable(const uint8_t* lengths, size_t count, uint32_t (*entryOf)(size_t), unsigned indexBits, uint32_t* table) {
  constexpr unsigned longest = 15;
  uint32_t counts[longest + 1] = {}, next[longest + 1] = {};
  unsigned maximum = 0;
  for (size_t i = 0; i < count; i++) {
    counts[lengths[i]]++;
    if (lengths[i] > maximum) maximum = lengths[i];
  }
  counts[0] = 0;
  int32_t left = 1;
  for (unsigned length = 1; length <= longest; length++) {
    left = 2 * left - static_cast<int32_t>(counts[length]);
    if (left < 0) return false;
    next[length] = (next[length - 1] + counts[length - 1]) << 1;
  }
  size_t size = static_cast<size_t>(1) << indexBits;
  if (left > 0) {
    if (maximum > 1) return false;
    memset(table, 0, size * sizeof *table);
  } else if (maximum > indexBits) {
    // Marks which further tables are begun.
    memset(table, 0, size * sizeof *table);
  }
  size_t end = size;
  for (size_t symbol = 0; symbol < count; symbol++) {
    unsigned length = lengths[symbol];
    if (length == 0) continue;
    uint32_t entry = entryOf(symbol);
    if (entry != 0) entry |= length;
    uint32_t code = reversed(next[length]++, length);
    if (length <= indexBits) {
      for (size_t at = code; at < size; at += static_cast<size_t>(1) << length) table[at] = entry;
      continue;
    }
    unsigned furtherBits = longest - indexBits;
    uint32_t& leading = table[code & (size - 1)];
    if (leading == 0) {
      leading = isFurther | static_cast<uint32_t>(end);
      end += static_cast<size_t>(1) << furtherBits;
    }
    uint32_t* further = table + (leading & ~isFurther);
    for (size_t at = code >> indexBits; at < static_cast<size_t>(1) << furtherBits; at += static_cast<size_t>(1) << (length - indexBits)) further[at] = entry;
  }
  return true;
}

uint64_t load64(const uint8_t* at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
}

// Copies a match where up to 15 bytes past its end may be written.
void copyMatch(uint8_t* out, size_t distance, size_t length) {
  const uint8_t* from = out - distance;
  uint8_t* end = out + length;
  if (distance >= copyBytes) {
    do {
      memcpy(out, from, copyBytes);
      out += copyBytes;
      from += copyBytes;
    } while (out < end);
  } else if (distance >= 8) {
    do {
      memcpy(out, from, 8);
      out += 8;
      from += 8;
    } while (out < end);
  } else if (distance == 1) {
    memset(out, *from, length);
  } else {
    while (out < end) *out++ = *from++;
  }
}

uint32_t adler32(const uint8_t* at, size_t length) {
  constexpr uint32_t modulus = 65521;
  // So many bytes that no sum overflows.
  constexpr size_t blockBytes = 5536, lane = 16;
  uint32_t a = 1, b = 0;
  while (length > 0) {
    size_t block = length < blockBytes ? length : blockBytes;
    length -= block;
    for (; block >= lane; block -= lane, at += lane) {
      uint32_t sum = 0, weighted = 0;
      for (uint32_t i = 0; i < lane; i++) {
        sum += at[i];
        weighted += (16 - i) * at[i];
      }
      b += 16 * a + weighted;
      a += sum;
    }
    for (; block > 0; block--) {
      a += *at++;
      b += a;
    }
    a %= modulus;
    b %= modulus;
  }
  return b << 16 | a;
}

}  // namespace

void Inflater::refill() {
  if (inEnd_ - in_ >= 8) {
    bits_ |= load64(in_) << bitCount_;
    in_ += (63 - bitCount_) >> 3;
    bitCount_ |= 56;
    return;
  }
  for (; bitCount_ <= 56 && in_ < inEnd_; bitCount_ += 8) bits_ |= static_cast<uint64_t>(*in_++) << bitCount_;
}

bool Inflater::takeBits(unsigned count, uint32_t* value) {
  if (bitCount_ < count) refill();
  if (bitCount_ < count) return false;
  *value = static_cast<uint32_t>(bits_ & ((1ull << count) - 1));
  bits_ >>= count;
  bitCount_ -= count;
  return true;
}

void Inflater::makeFixedTables() {
  if (isFixed_) return;
  uint8_t lengths[literalCount];
  for (size_t i = 0; i < literalCount; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  makeTable(lengths, literalCount, literalEntry, literalBits, literals_);
  memset(lengths, 5, distanceCount);
  makeTable(lengths, distanceCount, distanceEntry, distanceBits, distances_);
  isFixed_ = true;
}

bool Inflater::readTables() {
  static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  constexpr unsigned codeBits = 7;
  uint32_t counts;
  if (!takeBits(14, &counts)) return false;
  size_t literalTotal = (counts & 31) + 257, distanceTotal = (counts >> 5 & 31) + 1, codeTotal = (counts >> 10) + 4;
  if (literalTotal > 286 || distanceTotal > 30) return false;
  uint8_t codeLengths[19] = {};
  uint32_t value;
  for (size_t i = 0; i < codeTotal; i++) {
    if (!takeBits(3, &value)) return false;
    codeLengths[order[i]] = static_cast<uint8_t>(value);
  }
  uint32_t codes[1u << codeBits];
  memset(codes, 0, sizeof codes);
  if (!makeTable(codeLengths, sizeof codeLengths, codeLengthEntry, codeBits, codes)) return false;
  uint8_t lengths[literalCount + distanceCount] = {};
  for (size_t i = 0; i < literalTotal + distanceTotal;) {
    if (bitCount_ < 14) refill();
    uint32_t entry = codes[bits_ & ((1u << codeBits) - 1)];
    if (entry == 0 || !takeBits(entry & 15, &value)) return false;
    uint32_t symbol = entry >> valueAt & valueMask;
    if (symbol < 16) {
      lengths[i++] = static_cast<uint8_t>(symbol);
      continue;
    }
    unsigned extra = symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
    if ((symbol == 16 && i == 0) || !takeBits(extra, &value)) return false;
    size_t repeats = value + (symbol == 18 ? 11 : 3);
    if (repeats > literalTotal + distanceTotal - i) return false;
    memset(lengths + i, symbol == 16 ? lengths[i - 1] : 0, repeats);
    i += repeats;
  }
  // Without a code for its end a block has none.
  if (lengths[256] == 0) return false;
  isFixed_ = false;
  return makeTable(lengths, literalTotal, literalEntry, literalBits, literals_) &&
         makeTable(lengths + literalTotal, distanceTotal, distanceEntry, distanceBits, distances_);
}

// Until input or room become short, or the block ends.
Inflater::Ending Inflater::readQuickly() {
  constexpr uint64_t literalMask = (1u << literalBits) - 1, distanceMask = (1u << distanceBits) - 1;
  const uint8_t* in = in_;
  uint8_t* out = out_;
  uint64_t bits = bits_;
  unsigned bitCount = bitCount_;
  Ending ending = Ending::full;
  auto load = [&] {
    bits |= load64(in) << bitCount;
    in += (63 - bitCount) >> 3;
    bitCount |= 56;
  };
  auto take = [&](unsigned count) {
    bits >>= count;
    bitCount -= count;
  };
  while (inEnd_ - in >= 16 && static_cast<size_t>(outEnd_ - out) >= longestMatch + 2 * copyBytes) {
    load();
    uint32_t entry = literals_[bits & literalMask];
    if (entry & isLiteral) {
      take(entry & 255);
      *out++ = static_cast<uint8_t>(entry >> valueAt);
      entry = literals_[bits & literalMask];
      if (entry & isLiteral) {
        take(entry & 255);
        *out++ = static_cast<uint8_t>(entry >> valueAt);
        entry = literals_[bits & literalMask];
        if (entry & isLiteral) {
          take(entry & 255);
          *out++ = static_cast<uint8_t>(entry >> valueAt);
          continue;
        }
      }
      load();
    }
    if (entry & isFurther) entry = literals_[(entry & ~isFurther) + (bits >> literalBits & ((1u << (longestCode - literalBits)) - 1))];
    take(entry & 255 & 15);
    if (entry & isLiteral) {
      *out++ = static_cast<uint8_t>(entry >> valueAt);
      continue;
    }
    if (entry & isEnd) {
      ending = Ending::block;
      break;
    }
    unsigned extra = entry >> 8 & 15;
    size_t length = (entry >> valueAt & valueMask) + (bits & ((1u << extra) - 1));
    uint32_t reach = distances_[bits >> extra & distanceMask];
    take(extra);
    if (reach & isFurther) reach = distances_[(reach & ~isFurther) + (bits >> distanceBits & ((1u << (longestCode - distanceBits)) - 1))];
    if (entry == 0 || reach == 0) {
      ending = Ending::failed;
      break;
    }
    take(reach & 15);
    extra = reach >> 8 & 15;
    size_t distance = distanceBase[reach >> valueAt & valueMask] + (bits & ((1u << extra) - 1));
    take(extra);
    if (distance > static_cast<size_t>(out - outStart_)) {
      ending = Ending::failed;
      break;
    }
    copyMatch(out, distance, length);
    out += length;
  }
  in_ = in;
  out_ = out;
  bits_ = bits;
  bitCount_ = bitCount;
  return ending;
}

// The same with every bound looked at, one symbol after the other.
Inflater::Ending Inflater::readBlock() {
  for (;;) {
    Ending quick = readQuickly();
    if (quick != Ending::full) return quick;
    refill();
    uint32_t value, entry = literals_[bits_ & ((1u << literalBits) - 1)];
    if (entry & isFurther) entry = literals_[(entry & ~isFurther) + (bits_ >> literalBits & ((1u << (longestCode - literalBits)) - 1))];
    if (entry == 0 || !takeBits(entry & 15, &value)) return Ending::failed;
    if (entry & isEnd) return Ending::block;
    if (out_ == outEnd_) return Ending::full;
    if (entry & isLiteral) {
      *out_++ = static_cast<uint8_t>(entry >> valueAt);
      continue;
    }
    if (!takeBits(entry >> 8 & 15, &value)) return Ending::failed;
    size_t length = (entry >> valueAt & valueMask) + value;
    refill();
    uint32_t reach = distances_[bits_ & ((1u << distanceBits) - 1)];
    if (reach & isFurther) reach = distances_[(reach & ~isFurther) + (bits_ >> distanceBits & ((1u << (longestCode - distanceBits)) - 1))];
    if (reach == 0 || !takeBits(reach & 15, &value)) return Ending::failed;
    size_t distance = distanceBase[reach >> valueAt & valueMask];
    if (!takeBits(reach >> 8 & 15, &value)) return Ending::failed;
    distance += value;
    if (distance > static_cast<size_t>(out_ - outStart_)) return Ending::failed;
    for (; length > 0 && out_ < outEnd_; length--, out_++) *out_ = *(out_ - distance);
    if (length > 0) return Ending::full;
  }
}

Inflater::Ending Inflater::copyStored() {
  unsigned odd = bitCount_ & 7;
  bits_ >>= odd;
  bitCount_ -= odd;
  in_ -= bitCount_ >> 3;
  bits_ = 0;
  bitCount_ = 0;
  if (inEnd_ - in_ < 4) return Ending::failed;
  size_t length = in_[0] | static_cast<size_t>(in_[1]) << 8;
  if ((length ^ (in_[2] | static_cast<size_t>(in_[3]) << 8)) != 0xffff) return Ending::failed;
  in_ += 4;
  if (length > static_cast<size_t>(inEnd_ - in_)) return Ending::failed;
  size_t room = static_cast<size_t>(outEnd_ - out_);
  size_t copied = length < room ? length : room;
  memcpy(out_, in_, copied);
  out_ += copied;
  in_ += copied;
  return copied < length ? Ending::full : Ending::block;
}

bool Inflater::isChecksumRight(const uint8_t* start) {
  in_ -= bitCount_ >> 3;
  if (inEnd_ - in_ < 4) return false;
  uint32_t told = static_cast<uint32_t>(in_[0]) << 24 | static_cast<uint32_t>(in_[1]) << 16 | static_cast<uint32_t>(in_[2]) << 8 | in_[3];
  return told == adler32(start, static_cast<size_t>(out_ - start));
}

bool Inflater::inflate(Text from, uint8_t* out, size_t length, bool whole) {
  if (from.length < 2 || (from.data[0] & 15) != 8 || (from.data[1] & 32) != 0 || (from.data[0] << 8 | from.data[1]) % 31 != 0) return false;
  in_ = from.data + 2;
  inEnd_ = from.data + from.length;
  outStart_ = out_ = out;
  outEnd_ = out + length;
  bits_ = 0;
  bitCount_ = 0;
  for (;;) {
    if (!whole && out_ == outEnd_) return true;
    uint32_t head;
    if (!takeBits(3, &head)) return false;
    Ending ending = Ending::failed;
    if (head >> 1 == 0) {
      ending = copyStored();
    } else if (head >> 1 == 1) {
      makeFixedTables();
      ending = readBlock();
    } else if (head >> 1 == 2 && readTables()) {
      ending = readBlock();
    }
    if (ending == Ending::full) return !whole;
    if (ending == Ending::failed) {
      isFixed_ = false;
      return false;
    }
    if (head & 1) return out_ == outEnd_ && (!whole || isChecksumRight(outStart_));
  }
}

}  // namespace trawl
