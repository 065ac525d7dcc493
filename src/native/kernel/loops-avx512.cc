#if defined(__x86_64__)
// System headers come before the target is changed: their functions may be shared with the rest of the program, which
// must run without AVX-512. Our own headers come after it: a template is compiled for the target where it is defined.

// GCC's AVX-512 intrinsics read a register that is not initialized, whose value does not matter, and GCC warns about it.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi,bmi2,popcnt")
#endif

#include "simd-avx2.h"
#include "loops.h"
#include "windows.h"

namespace trawl {

// The vectors of AVX2, with words that are 64 bytes at a time.
//
// Members with the names of those of `Avx2` do the same for sixteen words.
struct Avx512 : Avx2 {
  using Words = __m512i;
  static constexpr const char* name = "avx512";
  static constexpr size_t wordCount = 16;

  static Words loadWords(const uint8_t* from) { return _mm512_loadu_si512(from); }
  static Words splatWord(uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
  static Words both(Words a, Words b) { return _mm512_and_si512(a, b); }
  static Words multiplyWords(Words a, Words b) { return _mm512_mullo_epi32(a, b); }
  static Words addWords(Words a, Words b) { return _mm512_add_epi32(a, b); }
  static Words shiftWords(Words a, unsigned by) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(static_cast<int>(by))); }
  static Words lookUpWords(const uint32_t* words, Words indexes) { return _mm512_i32gather_epi32(indexes, words, 4); }

  static Words lower(Words a) {
    const __mmask64 upper = _mm512_cmple_epu8_mask(_mm512_sub_epi8(a, _mm512_set1_epi8('A')), _mm512_set1_epi8('Z' - 'A'));
    return _mm512_mask_add_epi8(a, upper, a, _mm512_set1_epi8(0x20));
  }

  struct WordPairs {
    Words low, high;
  };

  template <size_t stride>
  static WordPairs wordsAt(const uint8_t* at) {
    if constexpr (stride == 8) {
      const Words a = loadWords(at), b = loadWords(at + 64);
      const Words even = addWords(countedWords(), countedWords());
      return {_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(a, addWords(even, splatWord(1)), b)};
    } else if constexpr (stride == 4) {
      return {loadWords(at), loadWords(at + 4)};
    } else {
      return wordsOf<stride>(at, at + 4 * stride, at + 8 * stride, at + 12 * stride);
    }
  }

  static WordPairs wordsFrom(const uint8_t* text, const uint32_t* positions) {
    return wordsOf<1>(text + positions[0], text + positions[1], text + positions[2], text + positions[3]);
  }

  static unsigned bitsOfWords(Words words, Words a, Words b) {
    const Words low = splatWord(31);
    const Words shifted = both(_mm512_srlv_epi32(words, both(a, low)), _mm512_srlv_epi32(words, both(b, low)));
    return _mm512_test_epi32_mask(shifted, splatWord(1));
  }

  static void storeWords(uint32_t* to, unsigned bits, int shift, size_t base) {
    const Words words = _mm512_sll_epi32(countedWords(), _mm_cvtsi32_si128(shift));
    storeBits(to, bits, addWords(words, splatWord(static_cast<uint32_t>(base))));
  }

  static void storeChosen(uint32_t* to, unsigned bits, const uint32_t* positions) {
    const Words firsts = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(positions)));
    const Words quads = _mm512_permutexvar_epi32(_mm512_srli_epi32(countedWords(), 2), firsts);
    storeBits(to, bits, addWords(quads, both(countedWords(), splatWord(3))));
  }

 private:
  static Words countedWords() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }

  // In a register first: to memory, some processors take ten times as long.
  static void storeBits(uint32_t* to, unsigned bits, Words words) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), words));
  }

  // The eight bytes at four positions from each of `a`, `b`, `c` and `d` on, `stride` bytes apart.
  template <size_t stride>
  static WordPairs wordsOf(const uint8_t* a, const uint8_t* b, const uint8_t* c, const uint8_t* d) {
    const auto quarter = [](const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
    Words bytes = _mm512_castsi128_si512(quarter(a));
    bytes = _mm512_inserti32x4(bytes, quarter(b), 1);
    bytes = _mm512_inserti32x4(bytes, quarter(c), 2);
    bytes = _mm512_inserti32x4(bytes, quarter(d), 3);
    constexpr int s = stride * 0x01010101, first = 0x03020100;
    const Words low = _mm512_broadcast_i32x4(_mm_setr_epi32(first, first + s, first + 2 * s, first + 3 * s));
    return {_mm512_shuffle_epi8(bytes, low), _mm512_shuffle_epi8(bytes, _mm512_add_epi8(low, _mm512_set1_epi8(4)))};
  }
};

// The other loops do not gain from larger vectors.
const Loops* avx512Loops() {
  static const Loops loops = [] {
    Loops all = *avx2Loops();
    all.name = Avx512::name;
    all.findBlocks = findBlocks<Avx512>;
    return all;
  }();
  return &loops;
}

}  // namespace trawl

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "loops.h"

namespace trawl {

const Loops* avx512Loops() { return nullptr; }

}  // namespace trawl
#endif
