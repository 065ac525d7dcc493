// How much a file counts: the rules of src/model/file-weight.ts, without regular expressions.
#pragma once

#include "bytes.h"

namespace trawl {

// Between 0 and 1. The letters of ASCII in the path are in lower case. `info` is the document's word of `documentInfo`, whose
// flags may replace what the path says.
double weighFile(Text path, uint32_t info);

// 0 for a file that is not weighted down, 1 for 0.5 or more, otherwise 2.
inline unsigned weightGroup(double factor) { return factor == 1 ? 0 : factor >= 0.5 ? 1 : 2; }

// The largest weight of each group.
constexpr double largestWeights[] = {1, 0.7, 0.5};

}  // namespace trawl
