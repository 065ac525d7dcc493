#include "needle.h"

namespace trawl {
namespace {

// How common each byte is in source code: its place when the bytes are ordered by frequency, rarest first. Counted over
// 60 MB of C, scripts and documentation of the Linux kernel.
const uint8_t commonness[256] = {
      0,   0,   0,   0,   0,   0,   0,   0,   0, 251, 249,   0,  78,   0,   0,   0,
      0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    255, 169, 202, 196, 161, 170, 185, 167, 232, 233, 230, 174, 235, 221, 204, 205,
    239, 210, 208, 198, 195, 183, 190, 179, 191, 178, 187, 228, 180, 212, 209, 158,
    166, 226, 199, 227, 217, 234, 206, 197, 194, 225, 164, 184, 213, 214, 215, 211,
    216, 171, 224, 231, 229, 201, 188, 182, 189, 181, 168, 177, 173, 176, 145, 253,
    163, 245, 218, 242, 243, 254, 238, 222, 223, 250, 165, 207, 241, 236, 246, 244,
    237, 186, 248, 247, 252, 240, 220, 203, 219, 200, 175, 193, 172, 192, 160,   0,
    155, 123, 144, 116, 147, 134, 118, 126, 137, 132, 106, 133, 149, 128, 108, 141,
    117, 101,  85,  95, 151, 111, 124,  98, 115, 121, 148, 112, 143,  88,  96, 104,
    129, 127,  97, 107, 105, 119, 113, 103, 146, 100,  99,  91,  90, 120, 131, 135,
    130, 102,  92,  93,  87,  86, 109,  94, 153, 114, 142, 139, 152, 136, 110, 122,
      0,   0,  84,  89,  77,  81,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
     83,  82,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
      0,   0, 138, 125, 157, 162, 159, 156, 154, 150,  75,  80,  79,  75,   0, 140,
      0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
};

// The rarest position other than `except`; of equally rare ones the last, which keeps a run of one byte from being
// compared at two neighbours.
size_t rarestPosition(const uint8_t* bytes, size_t length, size_t except) {
  size_t best = except == 0 ? 1 : 0;
  for (size_t i = best + 1; i < length; i++) {
    if (i != except && commonness[bytes[i]] <= commonness[bytes[best]]) best = i;
  }
  return best;
}

}  // namespace

Needle makeNeedle(const uint8_t* bytes, size_t length, bool fold) {
  Needle needle = {bytes, length, fold, 0, 0};
  if (length < 2) return needle;
  size_t rarest = rarestPosition(bytes, length, length);
  size_t second = rarestPosition(bytes, length, rarest);
  needle.first = rarest < second ? rarest : second;
  needle.second = rarest < second ? second : rarest;
  return needle;
}

}  // namespace trawl
