// What a document shows of the words of a query, and its score: src/eval/ranking/score.ts and document-features.ts, step
// by step in the same order, so that the sums of fractions are the same to the last bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"
#include "symbol-records.h"
#include "symbols.h"

namespace trawl {

// A text that a query looks for, in lower case, and as typed; see `QueryWord` of query-words.ts.
struct ScoredWord {
  std::string_view lowered, typed;
  uint32_t bits;
  uint32_t letterCount;
};

// Longer texts first. `count` is the number of bits.
struct ScoredWords {
  std::vector<ScoredWord> words;
  uint32_t count = 0;

  uint32_t bitsIn(std::string_view lowered) const {
    uint32_t bits = 0;
    for (const ScoredWord& word : words) {
      if (lowered.find(word.lowered) != std::string_view::npos) bits |= word.bits;
    }
    return bits;
  }

  double share(uint32_t bits) const { return static_cast<double>(__builtin_popcount(bits)) / count; }
};

// Of the name of a file or a symbol.
struct NameFeatures {
  double cover = 0, words = 0, wordsNear = 0;
};

struct SymbolFeatures : NameFeatures {
  double kindFactor = 0;
  bool isSameCase = true;
};

// What the path of a document has of the words.
struct PathFeatures {
  uint32_t pathBits = 0;
  bool hasFileName = false;
  NameFeatures fileName;
  double folders = 0;
};

struct Features {
  bool hasSymbol = false;
  SymbolFeatures symbol;
  bool hasFileName = false;
  NameFeatures fileName;
  double folders = 0, line = 0, wholeWords = 0, phrase = 0;
  uint32_t matchCount = 0;
  double fileFactor = 1;
};

// In whole points.
uint32_t scoreOf(const Features& features);

// `path` is in lower case.
PathFeatures findInPath(const ScoredWords& words, std::string_view path);

// What matches may be in the name of a symbol: nothing, a part of it, or all of its letters.
enum class Naming : uint8_t { none, partial, whole };

// A letter or digit of ASCII, or a byte of a character beyond ASCII.
inline bool isLetter(uint8_t byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || byte >= 128;
}

// So many matches in one name may cover it; further ones do not count.
constexpr size_t coveringMatchesMax = 16;

// The best that a document with this path can have.
Features boundOf(const ScoredWords& words, const PathFeatures& inPath, uint32_t matchCount, double fileFactor, Naming naming);

// A document that satisfies a query, whose text is [textFrom, textTo), with its rows, which are pairs.
struct ScoredDocument {
  Text text;
  size_t textFrom, textTo;
  const uint32_t* rows;
  size_t rowCount;
  double fileFactor;
  // The symbols at the rows, `placeWordCount` words each, and their record.
  const uint32_t* places;
  size_t placeCount;
  Text record;
  // By kind; the last one is of those that are not in the list.
  const double* kindFactors;
  size_t kindCount;
};

Features findFeatures(const ScoredWords& words, const PathFeatures& inPath, const ScoredDocument& document);

}  // namespace trawl
