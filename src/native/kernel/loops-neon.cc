// 16 bytes at a time on 64-bit ARM, where NEON is always available.
#include "loops.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include "loops-of.h"

namespace trawl {

struct Neon {
  using Reg = uint8x16_t;
  using Mask = uint64_t;
  static constexpr const char* name = "neon";
  static constexpr size_t width = 16;
  static constexpr size_t stride = 4;
  static constexpr size_t wordCount = 0;

  static Reg load(const uint8_t* from) { return vld1q_u8(from); }
  static void store(uint8_t* to, Reg value) { vst1q_u8(to, value); }
  static Reg splat(uint8_t byte) { return vdupq_n_u8(byte); }
  static Reg either(Reg a, Reg b) { return vorrq_u8(a, b); }
  static Reg both(Reg a, Reg b) { return vandq_u8(a, b); }
  static bool isZero(Reg a) { return vmaxvq_u8(a) == 0; }

  static Reg equal(Reg a, Reg b) { return vceqq_u8(a, b); }
  // NEON has no movemask: a narrowing shift leaves four bits per byte, and the mask selects the highest of them.
  static Mask mask(Reg equalBytes) {
    uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(equalBytes), 4);
    return vget_lane_u64(vreinterpret_u64_u8(nibbles), 0) & 0x8888888888888888u;
  }
  static Mask highBits(Reg a) { return mask(vcgeq_u8(a, splat(0x80))); }
  // Bytes below 0x20, and bytes of 0x80 and above: as signed numbers, all of them are below 0x20.
  static Reg controlOrHigh(Reg a) { return vcltq_s8(vreinterpretq_s8_u8(a), vdupq_n_s8(0x20)); }

  static Reg lower(Reg a) {
    Reg upper = both(vcgeq_u8(a, splat('A')), vcleq_u8(a, splat('Z')));
    return either(a, both(upper, splat(0x20)));
  }
};

const Loops* neonLoops() { return loopsOf<Neon>(); }

}  // namespace trawl
#else
namespace trawl {

const Loops* neonLoops() { return nullptr; }

}  // namespace trawl
#endif
