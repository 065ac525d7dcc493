#if defined(__x86_64__)
// System headers come before the target is changed: their functions may be shared with the rest of the program, which
// must run without AVX2. Our own headers come after it: a template is compiled for the target where it is defined.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif

#include "simd-avx2.h"
#include "loops-of.h"

namespace trawl {

const Loops* avx2Loops() { return loopsOf<Avx2>(); }

}  // namespace trawl

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
#include "loops.h"

namespace trawl {

const Loops* avx2Loops() { return nullptr; }

}  // namespace trawl
#endif
