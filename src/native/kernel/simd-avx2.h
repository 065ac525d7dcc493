// 32 bytes at a time. Include only where the compiler's target is AVX2 (loops-avx2.cc).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace trawl {

struct Avx2 {
  using Reg = __m256i;
  using Mask = uint32_t;
  static constexpr const char* name = "avx2";
  static constexpr size_t width = 32;
  static constexpr size_t stride = 1;

  static Reg load(const uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static void store(uint8_t* to, Reg value) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value); }
  static Reg splat(uint8_t byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
  static Reg either(Reg a, Reg b) { return _mm256_or_si256(a, b); }
  static Reg both(Reg a, Reg b) { return _mm256_and_si256(a, b); }
  static bool isZero(Reg a) { return _mm256_testz_si256(a, a) != 0; }

  static Reg equal(Reg a, Reg b) { return _mm256_cmpeq_epi8(a, b); }
  static Mask mask(Reg equalBytes) { return static_cast<Mask>(_mm256_movemask_epi8(equalBytes)); }
  static Mask highBits(Reg a) { return mask(a); }
  // Bytes below 0x20, and bytes of 0x80 and above: as signed numbers, all of them are below 0x20.
  static Reg controlOrHigh(Reg a) { return _mm256_cmpgt_epi8(splat(0x20), a); }

  static Reg lower(Reg a) {
    Reg upper = both(_mm256_cmpgt_epi8(a, splat('A' - 1)), _mm256_cmpgt_epi8(splat('Z' + 1), a));
    return either(a, both(upper, splat(0x20)));
  }
};

}  // namespace trawl
