// 8 bytes at a time in a general-purpose register: the fallback for processors without AVX2 or NEON.
#include "loops-of.h"

namespace trawl {

struct Swar {
  using Reg = uint64_t;
  using Mask = uint64_t;
  static constexpr const char* name = "swar";
  static constexpr size_t width = 8;
  static constexpr size_t stride = 8;
  static constexpr size_t wordCount = 0;

  static constexpr uint64_t ones = 0x0101010101010101u;
  static constexpr uint64_t tops = 0x8080808080808080u;

  static Reg load(const uint8_t* from) {
    Reg value;
    memcpy(&value, from, width);
    return value;
  }
  static void store(uint8_t* to, Reg value) { memcpy(to, &value, width); }
  static Reg splat(uint8_t byte) { return ones * byte; }
  static Reg either(Reg a, Reg b) { return a | b; }
  static Reg both(Reg a, Reg b) { return a & b; }
  static bool isZero(Reg a) { return a == 0; }

  // Sets the top bit of each equal byte. Exact, unlike the shorter form, in which a borrow reaches the next byte.
  static Reg equal(Reg a, Reg b) {
    Reg x = a ^ b;
    return ~(((x & ~tops) + ~tops) | x) & tops;
  }
  static Mask mask(Reg equalBytes) { return equalBytes; }
  static Mask highBits(Reg a) { return a & tops; }
  // Bytes below 0x20, and bytes of 0x80 and above.
  static Reg controlOrHigh(Reg a) { return (~((a & ~tops) + ones * 0x60) | a) & tops; }

  static Reg lower(Reg a) {
    Reg low = a & ~tops;
    Reg upper = ((low + ones * (128u - 'A')) ^ (low + ones * (127u - 'Z'))) & ~a & tops;
    return a | (upper >> 2);
  }
};

const Loops* swarLoops() { return loopsOf<Swar>(); }

}  // namespace trawl
