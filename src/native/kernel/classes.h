#pragma once

#include <cstdint>

namespace trawl {

// The class alphabet, the same as in alphabet.ts; a test compares the posting lists of both.
struct ClassTable {
  uint8_t of[256];

  constexpr ClassTable() : of() {
    uint8_t classOfSymbol[128] = {};
    uint8_t next = 1;
    for (unsigned byte = 0; byte < 128; byte++) {
      unsigned symbol = byte;
      if (byte >= 'A' && byte <= 'Z') symbol = byte | 0x20;
      else if (byte < 32 && byte != '\t' && byte != '\n') symbol = 0;
      if (classOfSymbol[symbol] == 0) classOfSymbol[symbol] = next++;
      of[byte] = classOfSymbol[symbol];
    }
    for (unsigned byte = 128; byte < 256; byte++) of[byte] = static_cast<uint8_t>(next + byte % (128u - next));
  }
};

static constexpr ClassTable classes;
constexpr unsigned trigramBits = 21;
constexpr uint32_t trigramCount = 1u << trigramBits;

}  // namespace trawl
