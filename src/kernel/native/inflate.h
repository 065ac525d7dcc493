// Unpacking of zlib's format (RFC 1950 and 1951), as git's packs hold it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace trawl {

/**
 * Unpacks whole objects from memory to memory. zlib is made for streams that come in pieces, and takes twice as long for
 * objects of some kilobytes; what is different here:
 *
 *  - 64 bits are held, so that a length, its distance and the extra bits of both come from one load;
 *  - while 16 bytes of input and room for the longest match are left, nothing is checked but the distance;
 *  - matches are copied 16 bytes at a time, past their end.
 *
 * Input that is no such stream makes `inflate` return false; it reads and writes nothing outside of what it was given.
 */
class Inflater {
 public:
  // Fills `out` with the `length` bytes that `from` begins with; with `whole`, the stream has to end there and its checksum to fit.
  bool inflate(Text from, uint8_t* out, size_t length, bool whole);

 private:
  static constexpr unsigned literalBits = 10, distanceBits = 8, longestCode = 15;
  static constexpr size_t literalCount = 288, distanceCount = 32;
  // Each code that is longer than the index of a table leads to a further table, which at least two codes share.
  static constexpr size_t literalEntries = (1u << literalBits) + literalCount / 2 * (1u << (longestCode - literalBits));
  static constexpr size_t distanceEntries = (1u << distanceBits) + distanceCount / 2 * (1u << (longestCode - distanceBits));

  enum class Ending { block, full, failed };

  bool takeBits(unsigned count, uint32_t* value);
  void refill();
  bool readTables();
  void makeFixedTables();
  Ending readBlock();
  Ending readQuickly();
  Ending copyStored();
  bool isChecksumRight(const uint8_t* start);

  const uint8_t* in_ = nullptr;
  const uint8_t* inEnd_ = nullptr;
  uint8_t* outStart_ = nullptr;
  uint8_t* out_ = nullptr;
  uint8_t* outEnd_ = nullptr;
  // Of what is held, `bitCount_` bits count. Bits above them are zero, or the ones that come next.
  uint64_t bits_ = 0;
  unsigned bitCount_ = 0;
  bool isFixed_ = false;
  uint32_t literals_[literalEntries];
  uint32_t distances_[distanceEntries];
};

}  // namespace trawl
