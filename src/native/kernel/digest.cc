#include "digest.h"

#include <cstring>

#include "loops.h"

namespace trawl {
namespace {

constexpr uint32_t noPosition = UINT32_MAX;

struct Hash {
  uint32_t words[4];
};

constexpr uint32_t rotated(uint32_t word, int bits) { return word << bits | word >> (32 - bits); }

// The last step of MurmurHash3, by Austin Appleby, who placed it in the public domain.
constexpr uint32_t mixed(uint32_t word) {
  word = (word ^ word >> 16) * 0x85ebca6b;
  word = (word ^ word >> 13) * 0xc2b2ae35;
  return word ^ word >> 16;
}

// MurmurHash3_x86_128 with seed 0, of a key followed by a text.
class Murmur {
  static constexpr uint32_t c1 = 0x239b961b, c2 = 0xab0e9789, c3 = 0x38b34ae5, c4 = 0xa1e38b93;
  uint32_t h1 = 0, h2 = 0, h3 = 0, h4 = 0;

  void addTail(const uint8_t* bytes) {
    uint32_t k[4];
    memcpy(k, bytes, sizeof k);
    h4 ^= rotated(k[3] * c4, 18) * c1;
    h3 ^= rotated(k[2] * c3, 17) * c4;
    h2 ^= rotated(k[1] * c2, 16) * c3;
    h1 ^= rotated(k[0] * c1, 15) * c2;
  }

  void addBlock(const uint8_t* bytes) {
    uint32_t k[4];
    memcpy(k, bytes, sizeof k);
    h1 = (rotated(h1 ^ rotated(k[0] * c1, 15) * c2, 19) + h2) * 5 + 0x561ccd1b;
    h2 = (rotated(h2 ^ rotated(k[1] * c2, 16) * c3, 17) + h3) * 5 + 0x0bcaa747;
    h3 = (rotated(h3 ^ rotated(k[2] * c3, 17) * c4, 15) + h4) * 5 + 0x96cd1c35;
    h4 = (rotated(h4 ^ rotated(k[3] * c4, 18) * c1, 13) + h1) * 5 + 0x32ac3b17;
  }

 public:
  Hash of(const uint8_t* key, const uint8_t* text, size_t length) {
    addBlock(key);
    size_t at = 0;
    for (; at + 16 <= length; at += 16) addBlock(text + at);
    if (at < length) {
      uint8_t tail[16] = {};
      memcpy(tail, text + at, length - at);
      addTail(tail);
    }
    const uint32_t total = static_cast<uint32_t>(length + digestKeyBytes);
    h1 ^= total, h2 ^= total, h3 ^= total, h4 ^= total;
    h1 += h2 + h3 + h4, h2 += h1, h3 += h1, h4 += h1;
    h1 = mixed(h1), h2 = mixed(h2), h3 = mixed(h3), h4 = mixed(h4);
    h1 += h2 + h3 + h4, h2 += h1, h3 += h1, h4 += h1;
    return {{h1, h2, h3, h4}};
  }
};

inline void addMatch(uint32_t* sum, const Hash& key, uint32_t start, uint32_t end) {
  for (size_t i = 0; i < 4; i++) sum[i] += mixed(mixed(key.words[i] ^ start) + end);
}

bool addResult(DigestJob& job, const ResultWords& result, size_t rowFrom, size_t rowTo) {
  if (result.pathFrom > result.pathTo || result.pathTo > job.paths.length) return false;
  if (result.headFrom < digestKeyBytes || result.headFrom > job.fragments.length) return false;
  if (rowFrom > rowTo || 2 * rowTo > job.rows.length) return false;
  const Hash key = Murmur().of(job.fragments.data + result.headFrom - digestKeyBytes, job.paths.data + result.pathFrom,
                               result.pathTo - result.pathFrom);
  uint32_t sum[4];
  memcpy(sum, job.sum, sizeof sum);
  if (result.rowFrom == result.rowTo) addMatch(sum, key, noPosition, noPosition);
  for (size_t row = rowFrom; row < rowTo; row++) {
    addMatch(sum, key, job.rows.data[2 * row] - result.contentFrom, job.rows.data[2 * row + 1] - result.contentFrom);
  }
  memcpy(job.sum, sum, sizeof sum);
  job.sum[4] += result.rowFrom == result.rowTo ? 1 : static_cast<uint32_t>(rowTo - rowFrom);
  return true;
}

}  // namespace

bool digestResults(DigestJob& job) {
  for (size_t i = job.fromResult; i < job.resultCount && i <= job.toResult; i++) {
    if (i == job.toResult && job.toRow == 0) break;
    ResultWords result;
    memcpy(&result, job.results.data + i * resultWordCount, sizeof result);
    const size_t from = result.rowFrom + (i == job.fromResult ? size_t{job.fromRow} : 0);
    const size_t to = i == job.toResult ? result.rowFrom + size_t{job.toRow} : result.rowTo;
    if (to > result.rowTo || !addResult(job, result, from, to)) return false;
  }
  return true;
}

}  // namespace trawl
