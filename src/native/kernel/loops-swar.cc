#include "simd-swar.h"
#include "loops-of.h"

namespace trawl {

const Loops* swarLoops() { return loopsOf<Swar>(); }

}  // namespace trawl
