#include "loops.h"

namespace trawl {

const Loops* usableAvx2Loops() {
#if defined(__x86_64__)
  bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
              __builtin_cpu_supports("popcnt");
  return runs ? avx2Loops() : nullptr;
#else
  return nullptr;
#endif
}

const Loops* usableAvx512Loops() {
#if defined(__x86_64__)
  // Processors without VBMI2 lower their frequency for AVX-512.
  bool runs = usableAvx2Loops() != nullptr && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2");
  return runs ? avx512Loops() : nullptr;
#else
  return nullptr;
#endif
}

const Loops& fastestLoops() {
  if (const Loops* avx512 = usableAvx512Loops()) return *avx512;
  if (const Loops* avx2 = usableAvx2Loops()) return *avx2;
  if (const Loops* neon = neonLoops()) return *neon;
  return *swarLoops();
}

}  // namespace trawl
