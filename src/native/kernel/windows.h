// Finds the positions of a text at which the block of some literal may begin: first the windows that pass, then the blocks
// that contain one. Eight or sixteen hashes are looked up at once where the vector type can, and positions are written to
// a list without a branch: one window in ten may pass, and a processor predicts that badly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bytes.h"
#include "loops.h"

namespace trawl {

// Lowers A-Z in eight bytes at once.
static inline uint64_t loweredBytes(uint64_t bytes) {
  constexpr uint64_t ones = 0x0101010101010101u, high = 0x80 * ones;
  const uint64_t low = bytes & ~high;
  const uint64_t fromA = low + (0x80 - 'A') * ones;
  const uint64_t pastZ = low + (0x7f - 'Z') * ones;
  return bytes | ((fromA & ~pastZ & ~bytes & high) >> 2);
}

// Up to eight bytes from `position`, fewer at the end of the text; `mask` has those that count.
template <bool fold>
static inline uint64_t windowAt(Text text, size_t position, uint64_t mask) {
  uint64_t window = 0;
  if (text.length - position >= sizeof window) memcpy(&window, text.data + position, sizeof window);
  else memcpy(&window, text.data + position, text.length - position);
  return (fold ? loweredBytes(window) : window) & mask;
}

static inline uint64_t windowMask(size_t windowBytes) { return ~uint64_t(0) >> (64 - 8 * windowBytes); }

// The same as in window-hash.ts.
constexpr uint32_t lowFactor = 0x9e3779b1u, highFactor = 0x85ebca77u, lastFactor = 0xc2b2ae3du;

static inline uint32_t hashOf(uint64_t window) {
  return static_cast<uint32_t>(window) * lowFactor + static_cast<uint32_t>(window >> 32) * highFactor;
}

// The hash of a block: of all of its bytes, or of its first eight and of its last eight.
template <bool fold>
static inline uint32_t blockHashAt(Text text, size_t position, size_t blockBytes) {
  if (blockBytes <= 8) return hashOf(windowAt<fold>(text, position, windowMask(blockBytes)));
  const uint32_t last = hashOf(windowAt<fold>(text, position + blockBytes - 8, windowMask(8)));
  return hashOf(windowAt<fold>(text, position, windowMask(8))) + last * lastFactor;
}

// Whether the filter has both bits of a hash, which are in one word.
static inline uint32_t passes(const HashFilter& filter, uint32_t hash) {
  const uint32_t word = filter.words[hash >> filter.shift];
  return word >> (hash >> 12 & 31) & word >> (hash >> 7 & 31) & 1;
}

// The text is read from memory faster than the processor expects it: without this, half of the time is spent waiting.
constexpr size_t prefetchedBytes = 4096;

template <class V, bool fold>
struct BlockFinder {
  const BlockSearch& job;
  const Text text;
  const size_t blockBytes;
  const uint64_t windowBits;

  explicit BlockFinder(const BlockSearch& job)
      : job(job), text(job.text), blockBytes(job.windowBytes + job.stride - 1), windowBits(windowMask(job.windowBytes)) {}

  template <size_t stride>
  size_t run() {
    // A block that begins in between has a window at a multiple of the stride.
    const size_t first = (job.from + stride - 1) / stride * stride;
    if (stride == 1) return findWindows<stride>(first, job.until, job.found);
    return findBlocks<stride>(findWindows<stride>(first, job.until + stride - 1, job.passed));
  }

 private:
  template <size_t stride>
  size_t findWindows(size_t position, size_t until, uint32_t* out) {
    size_t count = 0;
    if constexpr (V::wordCount > 0) {
      constexpr size_t step = V::wordCount * stride;
      for (; position + step <= until && text.length - position >= step + 16; position += step) {
        const uint8_t* at = text.data + position;
        for (size_t line = 0; line < step; line += 64) __builtin_prefetch(at + prefetchedBytes + line);
        const unsigned passed = lookUp(hashesOf(V::template wordsAt<stride>(at), windowBits), job.windows);
        V::storeWords(out + count, passed, __builtin_ctzll(stride), position);
        count += static_cast<size_t>(__builtin_popcount(passed));
      }
    }
    for (; position < until; position += stride) {
      out[count] = static_cast<uint32_t>(position);
      count += passes(job.windows, hashOf(windowAt<fold>(text, position, windowBits)));
    }
    return count;
  }

  // The blocks that contain one of the first `passedCount` windows.
  template <size_t stride>
  size_t findBlocks(size_t passedCount) {
    size_t count = 0, i = 0;
    const auto addBlocks = [&](size_t window) {
      const size_t until = window < job.until ? window + 1 : job.until;
      for (size_t at = window - job.from >= stride ? window - (stride - 1) : job.from; at < until; at++) {
        job.found[count] = static_cast<uint32_t>(at);
        count += passes(job.blocks, blockHashAt<fold>(text, at, blockBytes));
      }
    };
    if constexpr (V::wordCount > 0 && stride >= 4) {
      constexpr size_t together = V::wordCount / stride, quadsOfWindow = stride / 4;
      while (i < passedCount && job.passed[i] - job.from < stride) addBlocks(job.passed[i++]);
      for (; i + together <= passedCount; i += together) {
        uint32_t quads[V::wordCount / 4];
        for (size_t k = 0; k < V::wordCount / 4; k++)
          quads[k] = job.passed[i + k / quadsOfWindow] - (stride - 1) + 4 * (k % quadsOfWindow);
        const size_t last = quads[V::wordCount / 4 - 1];
        if (last + stride > job.until || text.length - last < 16 + blockBytes) break;
        const unsigned passed = lookUp(blockHashesAt(quads), job.blocks);
        V::storeChosen(job.found + count, passed, quads);
        count += static_cast<size_t>(__builtin_popcount(passed));
      }
    }
    for (; i < passedCount; i++) addBlocks(job.passed[i]);
    return count;
  }

  // The hashes of the blocks at each of the positions and the next three.
  auto blockHashesAt(const uint32_t* quads) const {
    if (blockBytes <= 8) return hashesOf(V::wordsFrom(text.data, quads), windowMask(blockBytes));
    const auto last = hashesOf(V::wordsFrom(text.data + blockBytes - 8, quads), windowMask(8));
    return V::addWords(hashesOf(V::wordsFrom(text.data, quads), windowMask(8)), V::multiplyWords(last, V::splatWord(lastFactor)));
  }

  template <class Windows>
  static auto hashesOf(Windows windows, uint64_t bits) {
    if (fold) windows = {V::lower(windows.low), V::lower(windows.high)};
    const auto low = V::both(windows.low, V::splatWord(static_cast<uint32_t>(bits)));
    const auto high = V::both(windows.high, V::splatWord(static_cast<uint32_t>(bits >> 32)));
    return V::addWords(V::multiplyWords(low, V::splatWord(lowFactor)), V::multiplyWords(high, V::splatWord(highFactor)));
  }

  // A bit for each hash that passes.
  template <class Hashes>
  static unsigned lookUp(Hashes hashes, const HashFilter& filter) {
    const auto words = V::lookUpWords(filter.words, V::shiftWords(hashes, filter.shift));
    return V::bitsOfWords(words, V::shiftWords(hashes, 12), V::shiftWords(hashes, 7));
  }
};

template <class V, bool fold>
static size_t findBlocksWith(const BlockSearch& job) {
  BlockFinder<V, fold> finder(job);
  switch (job.stride) {
    case 1: return finder.template run<1>();
    case 2: return finder.template run<2>();
    case 4: return finder.template run<4>();
    default: return finder.template run<8>();
  }
}

template <class V>
static size_t findBlocks(const BlockSearch& job) {
  return job.fold ? findBlocksWith<V, true>(job) : findBlocksWith<V, false>(job);
}

}  // namespace trawl
