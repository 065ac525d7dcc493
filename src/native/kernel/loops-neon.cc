#include "loops.h"

#if defined(__aarch64__)
#include "simd-neon.h"
#include "loops-of.h"

namespace trawl {

const Loops* neonLoops() { return loopsOf<Neon>(); }

}  // namespace trawl
#else
namespace trawl {

const Loops* neonLoops() { return nullptr; }

}  // namespace trawl
#endif
