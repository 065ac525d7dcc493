#include "score.h"

namespace trawl {
namespace {

using std::string_view;

constexpr double exactSymbol = 1000, sameCase = 40, partialSymbol = 600, exactFileName = 450, partialFileName = 250;
constexpr double folderPoints = 60, linePoints = 120, wholeWordPoints = 100, phrasePoints = 80, matchPoints = 8;
constexpr double nearShare = 0.6;

// Further occurrences are only counted.
constexpr size_t scoredRowsMax = 4096;
// Occurrences further apart are not in the same line.
constexpr size_t lineBytesMax = 400;
// As in content-symbols.ts. A longer container is in damaged records only.
constexpr size_t containerBytesMax = 4096;
// The largest share of a name that is not all of it.
constexpr double partialCover = 1 - 0x1p-53;
// There are fewer words than bits.
constexpr uint32_t unknownBits = UINT32_MAX;

uint8_t lowerByte(uint8_t byte) { return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte; }

bool isWordByte(uint8_t byte) { return byte == '_' || isLetter(byte); }

size_t lettersIn(const uint8_t* text, size_t from, size_t to) {
  size_t count = 0;
  for (size_t i = from; i < to; i++) count += isLetter(text[i]);
  return count;
}

double larger(double a, double b) { return a > b ? a : b; }

double scoreName(const NameFeatures& name, double exact, double partial) {
  const double share = name.words + nearShare * larger(0, name.wordsNear - name.words);
  return name.cover >= 1 ? exact * share : partial * share * (0.3 + 0.7 * name.cover);
}

double scoreSymbol(const SymbolFeatures& symbol) {
  const double base = scoreName(symbol, exactSymbol, partialSymbol);
  return (base + (symbol.isSameCase ? sameCase : 0)) * symbol.kindFactor;
}

// Half a point is rounded up, as Math.round does.
uint32_t rounded(double value) {
  const double up = std::ceil(value);
  return static_cast<uint32_t>(up - 0.5 > value ? up - 1 : up);
}

// The share of the letters of a name that words cover, which do not overlap.
double coverOf(const ScoredWords& words, string_view name) {
  const size_t letters = lettersIn(reinterpret_cast<const uint8_t*>(name.data()), 0, name.size());
  size_t covered = 0;
  std::string rest(name);
  for (const ScoredWord& word : words.words) {
    const size_t at = rest.find(word.lowered);
    if (at == std::string::npos) continue;
    covered += word.letterCount;
    rest[at] = '/';
    rest.erase(at + 1, word.lowered.size() - 1);
  }
  if (letters == 0) return 0;
  const double cover = static_cast<double>(covered) / static_cast<double>(letters);
  return cover < 1 ? cover : 1;
}

// The last part of the path, with or without what follows its first dot.
NameFeatures fileNameOf(const ScoredWords& words, string_view name, uint32_t bits, uint32_t pathBits) {
  const size_t dot = name.find('.', 1);
  const double whole = coverOf(words, name), inStem = coverOf(words, name.substr(0, dot));
  return {larger(whole, inStem), words.share(bits), words.share(pathBits)};
}

// What the lines of a document have of the words. Rows are added in order.
class LineFeatures {
 public:
  uint32_t bestBits = 0, wholeBits = 0;
  // The largest number of different words that follow one another.
  int phraseLength = 0;

  explicit LineFeatures(const ScoredDocument& document) : document_(document) {}

  void add(size_t from, size_t to, uint32_t bits) {
    const bool isSameLine = hasLast_ && from - lastEnd_ < lineBytesMax && !hasNewline(lastEnd_, from);
    bits_ = isSameLine ? bits_ | bits : bits;
    const bool follows = isSameLine && from - lastEnd_ <= 2 && (runBits_ & bits) == 0;
    runBits_ = follows ? runBits_ | bits : bits;
    lastEnd_ = to;
    hasLast_ = true;
    const int count = __builtin_popcount(bits_);
    if (count > bestCount_) {
      bestCount_ = count;
      bestBits = bits_;
    }
    if (follows && __builtin_popcount(runBits_) > phraseLength) phraseLength = __builtin_popcount(runBits_);
    if (isWhole(from, to)) wholeBits |= bits;
  }

 private:
  bool hasNewline(size_t from, size_t to) const { return from < to && memchr(document_.text.data + from, '\n', to - from) != nullptr; }

  bool isWhole(size_t from, size_t to) const {
    const uint8_t* text = document_.text.data;
    return (from == document_.textFrom || !isWordByte(text[from - 1])) && (to == document_.textTo || !isWordByte(text[to]));
  }

  const ScoredDocument& document_;
  uint32_t bits_ = 0, runBits_ = 0;
  int bestCount_ = 0;
  bool hasLast_ = false;
  size_t lastEnd_ = 0;
};

// Finds the symbol that has most of the words. Rows are added in order.
class SymbolFinder {
 public:
  bool hasBest = false;
  SymbolFeatures best;

  SymbolFinder(const ScoredWords& words, const ScoredDocument& document, uint32_t pathBits)
      : words_(words), document_(document), pathBits_(pathBits), containers_(document.record) {}

  void add(size_t from, size_t to, uint32_t bits, const ScoredWord* word) {
    while (at_ < document_.placeCount && place(at_)[1] < to) at_++;
    if (at_ == document_.placeCount || place(at_)[0] > from) return;
    if (!hasCurrent_ || current_ != at_) {
      end();
      hasCurrent_ = true;
      current_ = at_;
    }
    bits_ |= bits;
    if (++matches_ <= coveringMatchesMax) covered_ += lettersIn(document_.text.data, from, to);
    isSameCase_ = isSameCase_ && (word == nullptr || memcmp(document_.text.data + from, word->typed.data(), to - from) == 0);
  }

  // Ends the current symbol.
  void end() {
    if (!hasCurrent_) return;
    const uint32_t* words = place(current_);
    const uint32_t near = bits_ | pathBits_ | bitsOfContainer(words[3]);
    const size_t letters = lettersIn(document_.text.data, words[0], words[1]);
    SymbolFeatures features;
    features.cover = static_cast<double>(covered_) / static_cast<double>(letters > 0 ? letters : 1);
    features.words = words_.share(bits_);
    features.wordsNear = words_.share(near);
    features.kindFactor = kindFactor(words[2]);
    features.isSameCase = isSameCase_;
    const double score = scoreSymbol(features);
    if (score > bestScore_) {
      bestScore_ = score;
      best = features;
      hasBest = true;
    }
    hasCurrent_ = false;
    bits_ = 0;
    matches_ = 0;
    covered_ = 0;
    isSameCase_ = true;
  }

 private:
  const uint32_t* place(size_t index) const { return document_.places + placeWordCount * index; }

  double kindFactor(uint32_t kind) const {
    const size_t last = document_.kindCount - 1;
    return document_.kindFactors[kind < last ? kind : last];
  }

  // The reference is as a record has it: 2 plus the number of the container.
  uint32_t bitsOfContainer(uint32_t reference) {
    if (reference < 2) return 0;
    size_t from, to;
    const size_t number = reference - 2;
    if (number < containerBits_.size() && containerBits_[number] != unknownBits) return containerBits_[number];
    if (!containers_.find(number, &from, &to) || to - from > containerBytesMax) return 0;
    if (number >= containerBits_.size()) containerBits_.resize(number + 1, unknownBits);
    std::string lowered(reinterpret_cast<const char*>(document_.record.data + from), to - from);
    for (char& byte : lowered) byte = static_cast<char>(lowerByte(static_cast<uint8_t>(byte)));
    return containerBits_[number] = words_.bitsIn(lowered);
  }

  const ScoredWords& words_;
  const ScoredDocument& document_;
  const uint32_t pathBits_;
  Containers containers_;
  // What each container has of the words.
  std::vector<uint32_t> containerBits_;
  double bestScore_ = 0;
  size_t at_ = 0, current_ = 0;
  bool hasCurrent_ = false;
  uint32_t bits_ = 0;
  // In the name, and the letters of it that they cover.
  size_t matches_ = 0, covered_ = 0;
  bool isSameCase_ = true;
};

// The word that a row matched, the case of ASCII letters ignored.
const ScoredWord* wordAt(const ScoredWords& words, const uint8_t* text, size_t length) {
  for (const ScoredWord& word : words.words) {
    if (word.lowered.size() != length) continue;
    size_t i = 0;
    while (i < length && lowerByte(text[i]) == static_cast<uint8_t>(word.lowered[i])) i++;
    if (i == length) return &word;
  }
  return nullptr;
}

}  // namespace

uint32_t scoreOf(const Features& features) {
  const double symbol = features.hasSymbol ? scoreSymbol(features.symbol) : 0;
  const double fileName = features.hasFileName ? scoreName(features.fileName, exactFileName, partialFileName) : 0;
  const double folders = folderPoints * features.folders;
  const double line = linePoints * features.line;
  const double wholeWords = wholeWordPoints * features.wholeWords;
  const double phrase = phrasePoints * features.phrase;
  const uint32_t counted = features.matchCount < 255 ? features.matchCount : 255;
  const double matches = matchPoints * (counted == 0 ? 0 : 32 - __builtin_clz(counted));
  return rounded((symbol + fileName + folders + line + wholeWords + phrase + matches) * features.fileFactor);
}

PathFeatures findInPath(const ScoredWords& words, string_view path) {
  const size_t slash = path.rfind('/');
  const string_view name = slash == string_view::npos ? path : path.substr(slash + 1);
  const uint32_t fileBits = words.bitsIn(name);
  const uint32_t folderBits = slash == string_view::npos ? 0 : words.bitsIn(path.substr(0, slash));
  PathFeatures found;
  found.pathBits = fileBits | folderBits;
  found.hasFileName = fileBits != 0;
  if (found.hasFileName) found.fileName = fileNameOf(words, name, fileBits, found.pathBits);
  found.folders = words.share(folderBits & ~fileBits);
  return found;
}

Features boundOf(const ScoredWords& words, const PathFeatures& inPath, uint32_t matchCount, double fileFactor, Naming naming) {
  Features bound;
  bound.hasSymbol = naming != Naming::none;
  bound.symbol = {{naming == Naming::whole ? 1 : partialCover, 1, 1}, 1, true};
  bound.hasFileName = inPath.hasFileName;
  bound.fileName = inPath.fileName;
  bound.folders = inPath.folders;
  bound.line = 1;
  bound.wholeWords = 1;
  bound.phrase = words.count > 1 ? 1 : 0;
  bound.matchCount = matchCount;
  bound.fileFactor = fileFactor;
  return bound;
}

Features findFeatures(const ScoredWords& words, const PathFeatures& inPath, const ScoredDocument& document) {
  LineFeatures lines(document);
  SymbolFinder symbols(words, document, inPath.pathBits);
  const size_t end = document.rowCount < scoredRowsMax ? document.rowCount : scoredRowsMax;
  for (size_t row = 0; row < end; row++) {
    const size_t from = document.rows[2 * row], to = document.rows[2 * row + 1];
    const ScoredWord* word = wordAt(words, document.text.data + from, to - from);
    const uint32_t bits = word == nullptr ? 0 : word->bits;
    lines.add(from, to, bits);
    symbols.add(from, to, bits, word);
  }
  symbols.end();
  Features found;
  found.hasSymbol = symbols.hasBest;
  found.symbol = symbols.best;
  found.hasFileName = inPath.hasFileName;
  found.fileName = inPath.fileName;
  found.folders = inPath.folders;
  found.line = words.share(lines.bestBits);
  found.wholeWords = words.share(lines.wholeBits);
  found.phrase = words.count > 1 ? static_cast<double>(lines.phraseLength) / words.count : 0;
  found.matchCount = static_cast<uint32_t>(document.rowCount);
  found.fileFactor = document.fileFactor;
  return found;
}

}  // namespace trawl
