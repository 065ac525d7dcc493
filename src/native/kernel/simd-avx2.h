// 32 bytes at a time. Include only where the compiler's target is AVX2 (loops-avx2.cc).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace trawl {

// The numbers of the bits of a byte, each in a byte, from the lowest on.
struct BitNumbers {
  uint64_t of[256];
  constexpr BitNumbers() : of() {
    for (unsigned byte = 0; byte < 256; byte++) {
      unsigned count = 0;
      for (unsigned bit = 0; bit < 8; bit++) {
        if (byte >> bit & 1) of[byte] |= uint64_t(bit) << (8 * count++);
      }
    }
  }
};

static constexpr BitNumbers bitNumbers;

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

  // Numbers of 32 bits in a register.
  static constexpr size_t wordCount = 8;

  struct WordPairs {
    Reg low, high;
  };

  // The eight bytes at each of eight positions that are `stride` bytes apart. Reads up to `8 * stride + 16` bytes.
  template <size_t stride>
  static WordPairs wordsAt(const uint8_t* at) {
    if constexpr (stride == 8) {
      const __m256 a = _mm256_castsi256_ps(load(at)), b = _mm256_castsi256_ps(load(at + 32));
      return {inOrder(_mm256_shuffle_ps(a, b, 0x88)), inOrder(_mm256_shuffle_ps(a, b, 0xdd))};
    } else if constexpr (stride == 4) {
      return {load(at), load(at + 4)};
    } else {
      return wordsOf<stride>(at, at + 4 * stride);
    }
  }

  // The eight bytes at each of two positions and the next three. Reads 16 bytes of each.
  static WordPairs wordsFrom(const uint8_t* text, const uint32_t* positions) {
    return wordsOf<1>(text + positions[0], text + positions[1]);
  }

  static Reg splatWord(uint32_t word) { return _mm256_set1_epi32(static_cast<int>(word)); }
  static Reg multiplyWords(Reg a, Reg b) { return _mm256_mullo_epi32(a, b); }
  static Reg addWords(Reg a, Reg b) { return _mm256_add_epi32(a, b); }
  static Reg shiftWords(Reg a, unsigned by) { return _mm256_srli_epi32(a, static_cast<int>(by)); }
  static Reg lookUpWords(const uint32_t* words, Reg indexes) {
    return _mm256_i32gather_epi32(reinterpret_cast<const int*>(words), indexes, 4);
  }

  // A bit for each word that has both of its bits, whose numbers are the lowest five bits of `a` and `b`.
  static unsigned bitsOfWords(Reg words, Reg a, Reg b) {
    const Reg low = splatWord(31);
    const Reg shifted = both(_mm256_srlv_epi32(words, both(a, low)), _mm256_srlv_epi32(words, both(b, low)));
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(shifted, 31))));
  }

  // Writes `base + (i << shift)` for each bit i that is set.
  static void storeWords(uint32_t* to, unsigned bits, int shift, size_t base) {
    const Reg words = addWords(_mm256_slli_epi32(numbersOf(bits), shift), splatWord(static_cast<uint32_t>(base)));
    store(reinterpret_cast<uint8_t*>(to), words);
  }

  // Each of two positions and the next three are words: writes those whose bits are set.
  static void storeChosen(uint32_t* to, unsigned bits, const uint32_t* positions) {
    const __m128i first = _mm_set1_epi32(static_cast<int>(positions[0])), second = _mm_set1_epi32(static_cast<int>(positions[1]));
    const Reg words = addWords(_mm256_set_m128i(second, first), _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3));
    store(reinterpret_cast<uint8_t*>(to), _mm256_permutevar8x32_epi32(words, numbersOf(bits)));
  }

 private:
  static Reg numbersOf(unsigned bits) {
    return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bitNumbers.of[bits])));
  }

  // The eight bytes at four positions from `a` on and four from `b` on, each `stride` bytes apart.
  template <size_t stride>
  static WordPairs wordsOf(const uint8_t* a, const uint8_t* b) {
    const auto half = [](const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
    const Reg bytes = _mm256_set_m128i(half(b), half(a));
    constexpr int s = stride * 0x01010101;
    const Reg low = _mm256_add_epi32(_mm256_set1_epi32(0x03020100), _mm256_setr_epi32(0, s, 2 * s, 3 * s, 0, s, 2 * s, 3 * s));
    return {_mm256_shuffle_epi8(bytes, low), _mm256_shuffle_epi8(bytes, _mm256_add_epi8(low, splat(4)))};
  }

  // After a shuffle within the halves of two registers.
  static Reg inOrder(__m256 words) { return _mm256_permute4x64_epi64(_mm256_castps_si256(words), 0xd8); }
};

}  // namespace trawl
