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

#include "simd-avx512.h"
#include "loops.h"
#include "windows.h"

namespace trawl {

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
