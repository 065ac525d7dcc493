#include "ranking.h"

#include <algorithm>
#include <new>
#include <string>

#include "file-weight.h"
#include "postings.h"

namespace trawl {
namespace {

using std::vector;
using Numbers = vector<uint32_t>;

// Thrown where the general way has to decide, or where a shard is damaged, which that way reports.
struct Refusal {};
struct Stopped {};

inline void require(bool condition) {
  if (!condition) throw Refusal();
}

// A shard of which all candidates are within this many times its share of the budget examines all of them.
constexpr size_t wholeFactor = 4;
// Of each kind and group, this many times the wanted number of contents is listed, because some may be too large.
constexpr size_t listedFactor = 4;
constexpr size_t groupCount = 16, depthCount = 5;
// Fewer contents are examined faster than they are divided.
constexpr size_t dividedMin = 24;
constexpr size_t blockContentsMax = 1024, otherContentsMax = 128;
constexpr size_t blockBytesMax = 4 << 20;
// As in name-keys.ts.
constexpr uint32_t emptyKey = 0x811c9dc5, keyPrime = 0x01000193;
// For the bound of a score: more matches do not count.
constexpr uint32_t matchesBeyondScore = 1 << 16;
constexpr size_t scanBytesMax = 4 << 20;
constexpr size_t symbolsMax = 4096;
constexpr size_t unitBytes = 4096;
// A block with more needs the general way: 32 MiB for all literals together.
constexpr size_t rowsMax = 4 << 20;
// So do a document with more rows of several literals, which are sorted, a longer path and a longer record of symbols:
// what is done with one takes some milliseconds at most.
constexpr size_t sortedRowsMax = 1 << 16;
constexpr size_t pathBytesMax = 1 << 16;
constexpr size_t recordBytesMax = 1 << 20;
// A number of a posting list has at most so many bytes.
constexpr size_t varintBytesMax = 5;
// The work between two checks of the stop flag, about a millisecond: bytes that are read once or twice, where a document
// counts as many, and so does a row.
constexpr size_t workBetweenChecks = 1 << 17;
// Decoding one byte of a posting list takes as long as scanning this many bytes of text.
constexpr size_t postingWork = 8;
constexpr size_t documentWork = 256, rowWork = 16, pathRowWork = 64;
// The ranges of documents that are no longer kept are forgotten when there are so many words.
constexpr size_t arenaWordsMin = 1 << 18;

// As in content-scan.ts: a search of so many bytes may do so much work.
size_t workBytesMax(size_t bytes) {
  constexpr size_t readsMax = 25, freeBytes = 16 << 20, doubledBytesMax = 200 << 20;
  return freeBytes + readsMax * bytes + std::min(readsMax * bytes, doubledBytesMax);
}

void uniteInto(Numbers& all, const Numbers& more) {
  if (more.empty()) return;
  Numbers united;
  united.reserve(all.size() + more.size());
  std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(united));
  all.swap(united);
}

// Both lists are in ascending order.
Numbers bothOf(const Numbers& a, const Numbers& b) {
  Numbers both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

Numbers without(const Numbers& a, const Numbers& b) {
  Numbers left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

// The last index below `count` with list[index] <= value.
size_t lastAtMost(WordList list, uint32_t value, size_t count) {
  const uint32_t* end = std::upper_bound(list.data, list.data + count, value);
  return end == list.data ? 0 : end - list.data - 1;
}

// Lower case of ASCII, in a buffer that is used again.
std::string_view lowered(Text text, std::string& buffer) {
  buffer.assign(reinterpret_cast<const char*>(text.data), text.length);
  for (char& byte : buffer) byte = byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
  return buffer;
}

// One literal in one shard.
struct Leaf {
  const RankedLeaf* given;
  Needle needle;
  // In which it can start, and the contents of these.
  Numbers units, contents;
  // By document: 1 if its path has it; empty if none has. And the contents of these.
  vector<uint8_t> pathBits;
  Numbers pathContents;
  // Where the units of the next contents begin.
  size_t unitCursor = 0;
  // The rows of the block, and by index in its contents where they begin and end.
  Numbers rows;
  size_t rowCount = 0;
  Numbers rowFrom, rowTo;

  bool isInPath(size_t document) const { return !pathBits.empty() && pathBits[document] != 0; }
};

// Where a content of the block is in the text. It is read once, because what is mapped may change meanwhile.
struct TextRange {
  uint32_t from, to;
};

// A document of the block.
struct BlockDocument {
  uint32_t document, index;
};

struct Kept {
  uint32_t document, score, matchCount, order;
  // A copy: what is sorted must not change meanwhile.
  std::string path;
  // In the arena; `rangesUnknown` if they are not kept.
  uint32_t rangesAt;
};

// The order of src/protocol/rank-messages.ts, within one shard.
bool comesBefore(const Kept& a, const Kept& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.order != b.order) return a.order < b.order;
  const int paths = a.path.compare(b.path);
  return paths != 0 ? paths < 0 : a.document < b.document;
}

// `BestDocuments` of rank-messages.ts.
class Best {
 public:
  explicit Best(const RankLimits& limits) : limits_(limits), sortedAt_(limits.keptDocuments) {}

  bool wants(uint32_t score) const { return score >= limits_.scoreMin && (!hasWorst_ || score >= worst_.score); }

  void offer(const Kept& kept) {
    if (hasWorst_ && comesBefore(worst_, kept)) return;
    documents_.push_back(kept);
    matchCount_ += kept.matchCount;
    const bool isFull = !hasWorst_ && matchCount_ >= limits_.keptMatches;
    if (!isFull && documents_.size() < sortedAt_) return;
    dropOthers();
    sortedAt_ = documents_.size() + std::max<size_t>(1, documents_.size() / 4);
    hasWorst_ = !documents_.empty();
    if (hasWorst_) worst_ = documents_.back();
  }

  vector<Kept>& documents() {
    dropOthers();
    return documents_;
  }

 private:
  void dropOthers() {
    std::sort(documents_.begin(), documents_.end(), comesBefore);
    size_t count = 0;
    matchCount_ = 0;
    while (count < documents_.size() && count < limits_.keptDocuments && matchCount_ < limits_.keptMatches)
      matchCount_ += documents_[count++].matchCount;
    documents_.resize(count);
  }

  const RankLimits& limits_;
  vector<Kept> documents_;
  uint64_t matchCount_ = 0;
  size_t sortedAt_;
  bool hasWorst_ = false;
  Kept worst_ = {};
};

// Contents that are examined together; as in content-choice.ts.
struct Tier {
  Numbers contents;
  Naming naming;
  double weightMax;
};

// The key of a name whose letters are those of a text with this key, and these, which are in lower case.
uint32_t addToKey(uint32_t key, std::string_view lowered) {
  for (char letter : lowered) {
    const uint8_t byte = static_cast<uint8_t>(letter);
    if (isLetter(byte)) key = (key ^ byte) * keyPrime;
  }
  return key;
}

class ShardRanker {
 public:
  ShardRanker(const RankJob& job, RankTotals& totals)
      : job_(job), shard_(job.shard), symbols_(job.symbols), words_(job.query->words), totals_(totals), best_(job.limits) {}

  void run() {
    totals_.isComplete = 1;
    totals_.isListed = job_.limits.listsFound;
    for (const RankedLeaf& leaf : job_.query->leaves) bind(leaf);
    const Numbers candidates = findCandidates();
    totals_.candidateCount = static_cast<uint32_t>(candidates.size());
    if (!candidates.empty()) {
      const Numbers chosen = chooseContents(candidates);
      requireNoFolded(chosen);
      const bool areAll = totals_.isComplete != 0;
      for (const Tier& tier : divide(chosen, true)) decideTier(tier, areAll);
      if (totals_.isComplete == 0) decideOthers(candidates, chosen);
    }
    write();
  }

 private:
  void checkStop() const {
    if (job_.stop.areSet()) throw Stopped();
  }

  void spend(size_t work) {
    work_ += work;
    if (work_ < workBetweenChecks) return;
    work_ = 0;
    checkStop();
  }

  // Looks up the literal in the posting lists and the paths of the shard.
  void bind(const RankedLeaf& given) {
    leaves_.emplace_back();
    Leaf& leaf = leaves_.back();
    leaf.given = &given;
    leaf.needle = makeNeedle(given.literal.data, given.literal.length, given.fold);
    size_t cost;
    findUnits(shard_.postings, given.literal, shard_.contentFirstUnit[shard_.contentCount()], leaf.units, cost);
    totals_.postingBytes += static_cast<uint32_t>(cost);
    findContents(leaf.units, shard_.contentFirstUnit, shard_.contentCount(), leaf.contents);
    if (given.reachesFurther && shard_.foldExceptions.length > 0) {
      const WordList& exceptions = shard_.foldExceptions;
      uniteInto(leaf.contents, Numbers(exceptions.data, exceptions.data + exceptions.length));
    }
    if (given.inPath) findPaths(leaf);
  }

  void findUnits(const PostingSections& sections, Text literal, uint32_t unitCount, Numbers& units, size_t& cost) const {
    checkStop();
    uint32_t lists[overlapBytes];
    const Text start = {literal.data, std::min(literal.length, overlapBytes)};
    const size_t count = findLists({sections.keys.data, sections.starts.data, sections.keys.length}, start, lists);
    cost = 0;
    units.clear();
    if (count == 0) return;
    const uint32_t from = sections.starts[lists[0]], to = sections.starts[lists[0] + 1];
    cost = to - from;
    require(cost <= varintBytesMax * unitCount);
    units.resize(cost);
    // Others are intersected as long as that is worth it: at most as many bytes for each unit.
    for (size_t i = 0; i < std::min(count, mergedListsMax + 1); i++) {
      const size_t bytes = sections.starts[lists[i] + 1] - sections.starts[lists[i]];
      *job_.listWork += postingWork * std::min(bytes, cost * mergeBytesPerUnit);
    }
    const size_t found = unitsOfLists(sections.bytes, sections.starts.data, sections.starts.length, lists, count, units.data(), cost);
    require(found != noRoom);
    units.resize(found);
    require(units.empty() || units.back() < unitCount);
  }

  static void findContents(const Numbers& units, WordList firstUnits, size_t contentCount, Numbers& contents) {
    contents.resize(std::min(units.size(), contentCount));
    const size_t count = contentsOfUnits(units.data(), units.size(), firstUnits.data, contentCount, contents.data(), contents.size());
    require(count != noRoom);
    contents.resize(count);
  }

  // False only if no path has the literal, whatever the case; as `PathTrigrams` of path-match.ts.
  bool mayBeInPaths(Text literal) const {
    constexpr unsigned hashBits = 16;
    if (shard_.pathTrigrams.length == 0) return true;
    for (size_t at = 0; at + 3 <= literal.length; at++) {
      const uint8_t* text = literal.data + at;
      const uint32_t key = static_cast<uint32_t>(classes.of[text[0]]) << 14 | static_cast<uint32_t>(classes.of[text[1]]) << 7 | classes.of[text[2]];
      const uint32_t bit = ((key << (32 - trigramBits)) * 0x9e3779b1u) >> (32 - hashBits);
      if ((shard_.pathTrigrams[bit / 32] >> (bit % 32) & 1) == 0) return false;
    }
    return true;
  }

  void findPaths(Leaf& leaf) {
    if (!mayBeInPaths(leaf.given->literal)) return;
    const uint32_t length = static_cast<uint32_t>(shard_.paths.length);
    const uint32_t range[] = {0, length, length, 0};
    *job_.listWork += length;
    scan(leaf, shard_.paths, range, 1, true);
    const size_t documentCount = shard_.documentCount();
    for (size_t row = 0; row < leaf.rowCount; row++) {
      spend(pathRowWork);
      const uint32_t document = static_cast<uint32_t>(lastAtMost(shard_.pathStart, leaf.rows[2 * row], documentCount));
      require(document < documentCount);
      if (leaf.pathBits.empty()) leaf.pathBits.resize(documentCount);
      leaf.pathBits[document] = 1;
      const uint32_t content = contentAt(document);
      if (leaf.pathContents.empty() || leaf.pathContents.back() != content) leaf.pathContents.push_back(content);
    }
    leaf.rowCount = 0;
  }

  uint32_t contentAt(uint32_t document) const {
    return static_cast<uint32_t>(lastAtMost(shard_.contentFirstDocument, document, shard_.contentCount() + 1));
  }

  // Scans ranges for the leaf; the rows are those of the block, or the paths.
  void scan(Leaf& leaf, Text text, const uint32_t* ranges, size_t rangeCount, bool byLine) {
    uint32_t cursor[4] = {};
    if (leaf.rows.empty()) growRows(leaf, 256);
    ScanJob job = {text, ranges, rangeCount, leaf.needle, 0, leaf.rows.data(), leaf.rows.size() / 2, scanBytesMax, cursor};
    for (;;) {
      const Outcome outcome = byLine ? job_.loops->scanLines(job) : job_.loops->scan(job);
      require(outcome != Outcome::misuse);
      if (outcome == Outcome::done) break;
      checkStop();
      // What takes too much work is left out by the general way.
      const size_t width = byLine ? 4 : 3;
      if (!byLine) require(cursor[3] <= workBytesMax(contentBytesAt(ranges[cursor[0] * width + 2])));
      if (cursor[2] < job.rowCapacity) continue;
      growRows(leaf, 2 * leaf.rows.size());
      job.rows = leaf.rows.data();
      job.rowCapacity = leaf.rows.size() / 2;
    }
    leaf.rowCount = cursor[2];
  }

  void growRows(Leaf& leaf, size_t length) {
    rowWords_ += length - leaf.rows.size();
    require(rowWords_ <= 2 * rowsMax);
    leaf.rows.resize(length);
  }

  // The size of the content that ends there.
  size_t contentBytesAt(uint32_t end) const {
    const size_t content = lastAtMost(shard_.contentStart, end - 1, shard_.contentCount());
    return end - shard_.contentStart[content];
  }

  Numbers findCandidates() const {
    Numbers all;
    for (size_t i = 0; i < leaves_.size(); i++) {
      Numbers own = leaves_[i].contents;
      uniteInto(own, leaves_[i].pathContents);
      if (i == 0) {
        all.swap(own);
        continue;
      }
      all = bothOf(all, own);
    }
    return all;
  }

  size_t bytesOf(uint32_t content) const {
    return content < shard_.contentCount() ? shard_.contentStart[content + 1] - shard_.contentStart[content] : 0;
  }

  // As chooseContents of content-choice.ts.
  Numbers chooseContents(const Numbers& candidates) {
    const RankLimits& limits = job_.limits;
    if (isWithin(candidates)) return candidates;
    Numbers searched = keepSearched(candidates);
    if (isWithin(searched)) return searched;
    Numbers chosen;
    size_t bytes = 0;
    for (uint32_t content : orderContents(searched, limits.contentsMax * listedFactor)) {
      if (chosen.size() == limits.contentsMax) break;
      const size_t own = bytesOf(content);
      if (!chosen.empty() && bytes + own > limits.bytesMax) continue;
      chosen.push_back(content);
      bytes += own;
    }
    std::sort(chosen.begin(), chosen.end());
    totals_.isComplete = 0;
    return chosen;
  }

  bool isWithin(const Numbers& contents) const {
    if (contents.size() > job_.limits.contentsMax * wholeFactor) return false;
    size_t bytes = 0;
    for (uint32_t content : contents) bytes += bytesOf(content);
    return bytes <= job_.limits.bytesMax * wholeFactor;
  }

  Numbers keepSearched(const Numbers& contents) {
    Numbers kept;
    kept.reserve(contents.size());
    size_t last = 0;
    for (uint32_t content : contents) {
      const auto [from, to] = documentsAfter(last, content);
      spend(to - from);
      for (size_t document = from; document < to; document++) {
        if (!isSearched(document)) continue;
        kept.push_back(content);
        break;
      }
    }
    return kept;
  }

  std::pair<size_t, size_t> documentsOf(uint32_t content) const {
    require(content <= shard_.contentCount());
    const size_t from = shard_.contentFirstDocument[content], to = shard_.contentFirstDocument[content + 1];
    require(from <= to && to <= shard_.documentCount());
    return {from, to};
  }

  // Of contents in ascending order: no document has two, so that all of them together have no more than there are.
  std::pair<size_t, size_t> documentsAfter(size_t& last, uint32_t content) const {
    const auto [from, to] = documentsOf(content);
    require(last <= from);
    last = to;
    return {from, to};
  }

  const uint32_t* repositoryOf(size_t document) const {
    const size_t at = 2 * static_cast<size_t>(shard_.documentRepository[document]);
    require(at + 2 <= shard_.repositories.length);
    return shard_.repositories.data + at;
  }

  // Whether it is searched on some branch, and passes the filters.
  bool isSearched(size_t document) const {
    if ((shard_.documentBranches[document] & repositoryOf(document)[0]) == 0) return false;
    const WordList& dead = shard_.tombstones;
    if (document / 32 < dead.length && (dead[document / 32] >> (document % 32) & 1) != 0) return false;
    return shard_.verdicts.length == 0 || shard_.verdicts.data[document] == 1;
  }

  // First the contents with a name of all words, of some, with a word in a path, then the others; each kind by group.
  Numbers orderContents(const Numbers& contents, size_t listMax) {
    const Numbers favourites[] = {contentsNamed(true), contentsNamed(false), allPathContents()};
    constexpr size_t kindCount = std::size(favourites) + 1;
    findGroups();
    vector<uint8_t> kinds(shard_.contentCount() + 1, kindCount - 1);
    for (size_t kind = kindCount - 1; kind-- > 0;) {
      for (uint32_t content : favourites[kind]) kinds[content] = static_cast<uint8_t>(kind);
    }
    // Sorted by counting: each list begins where the one before ends.
    constexpr size_t listCount = kindCount * groupCount;
    size_t begins[listCount + 1] = {}, lengths[listCount] = {};
    const auto listOf = [&](uint32_t content) { return kinds[content] * groupCount + groupOf(content); };
    for (uint32_t content : contents) begins[listOf(content) + 1]++;
    for (size_t i = 0; i < listCount; i++) begins[i + 1] = begins[i] + std::min(begins[i + 1], listMax);
    Numbers ordered(begins[listCount]);
    for (uint32_t content : contents) {
      const size_t list = listOf(content);
      if (begins[list] + lengths[list] < begins[list + 1]) ordered[begins[list] + lengths[list]++] = content;
    }
    return ordered;
  }

  Numbers contentsNamed(bool ofAll) {
    Numbers contents;
    if (!symbols_.areKnown) return contents;
    for (const RankedName& name : job_.query->names) {
      if (name.ofAll == ofAll) addNamed(name.key, contents);
    }
    return contents;
  }

  // Adds the contents with a symbol whose name has this key.
  void addNamed(uint32_t key, Numbers& contents) {
    const WordList& keys = symbols_.nameKeys;
    for (size_t i = std::lower_bound(keys.data, keys.data + keys.length, key) - keys.data; i < keys.length && keys[i] == key; i++) {
      spend(1);
      const uint32_t part = symbols_.nameParts[i];
      if (part < symbols_.contents.length) contents.push_back(contentOfPart(part));
    }
  }

  uint32_t contentOfPart(uint32_t part) const {
    const uint32_t content = symbols_.contents[part];
    require(content < shard_.contentCount());
    return content;
  }

  Numbers allPathContents() const {
    Numbers all;
    for (const Leaf& leaf : leaves_) uniteInto(all, leaf.pathContents);
    return all;
  }

  Text pathOf(size_t document) const {
    const size_t from = shard_.pathStart[document], to = shard_.pathStart[document + 1];
    require(from < to && to <= shard_.paths.length && to - from <= pathBytesMax);
    return {shard_.paths.data + from, to - 1 - from};
  }

  double weigh(size_t document) { return weighText(lowered(pathOf(document), lowered_), document); }

  double weighText(std::string_view path, size_t document) const {
    return weighFile({reinterpret_cast<const uint8_t*>(path.data()), path.size()}, shard_.documentInfo[document]);
  }

  unsigned groupOf(uint32_t content) const {
    require(content <= shard_.contentCount());
    const unsigned group = shard_.groups[content] - 1u;
    require(group < groupCount);
    return group;
  }

  // By the weight of its paths, then by the number of folders; each content belongs to the best group of its documents.
  void findGroups() {
    if (shard_.groups[shard_.contentCount()] != 0) return;
    size_t last = 0;
    for (size_t content = 0; content <= shard_.contentCount(); content++) {
      size_t group = groupCount - 1;
      const auto [from, to] = documentsAfter(last, static_cast<uint32_t>(content));
      for (size_t document = from; document < to; document++) {
        const Text path = pathOf(document);
        spend(documentWork + path.length);
        const size_t depth = std::count(path.data, path.data + path.length, '/');
        group = std::min<size_t>(group, weightGroup(weigh(document)) * depthCount + std::min(depth, depthCount - 1));
      }
      shard_.groups[content] = static_cast<uint8_t>(group + 1);
    }
  }

  // A character that folds into ASCII from outside may make a match that only RE2 finds.
  void requireNoFolded(const Numbers& contents) const {
    const WordList& places = shard_.foldPlaces;
    for (size_t i = 0; i + 2 <= places.length; i += 2) {
      checkStop();
      if (!std::binary_search(contents.begin(), contents.end(), places[i])) continue;
      for (const Leaf& leaf : leaves_) require(!leaf.given->reachesFurther || !mayMatchAround(places[i], places[i + 1], leaf.given->literal));
    }
  }

  // Whether the literal may match around U+017F or U+212A at this position. They are compared as the letters that they match.
  bool mayMatchAround(uint32_t content, size_t at, Text literal) const {
    require(content < shard_.contentCount());
    const size_t start = shard_.contentStart[content], end = shard_.contentStart[content + 1];
    require(start <= at && at < end && end <= shard_.content.length);
    const size_t reach = 3 * literal.length;
    const size_t from = at - start > reach ? at - reach : start, to = std::min(end, at + reach);
    const uint8_t* text = shard_.content.data;
    std::string folded;
    for (size_t i = from; i < to; i++) {
      const bool isLongS = text[i] == 0xc5 && i + 1 < to && text[i + 1] == 0xbf;
      const bool isKelvin = text[i] == 0xe2 && i + 2 < to && text[i + 1] == 0x84 && text[i + 2] == 0xaa;
      const uint8_t byte = isLongS ? 's' : isKelvin ? 'k' : text[i];
      i += isLongS ? 1 : isKelvin ? 2 : 0;
      folded.push_back(static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte));
    }
    return folded.find(std::string_view(reinterpret_cast<const char*>(literal.data), literal.length)) != std::string::npos;
  }

  // As divide of content-choice.ts: first what may have a match in a name or a path, then the others by weight. If names are told
  // apart, those that the word covers come first.
  vector<Tier> divide(const Numbers& contents, bool tellsNames) {
    const Tier whole = {contents, Naming::whole, 1};
    if (contents.size() < dividedMin) return {whole};
    for (const Leaf& leaf : leaves_) {
      if (!leaf.given->inPath || !leaf.given->fold) return {whole};
    }
    if (symbols_.areKnown && !symbols_.havePostings) return {whole};
    Numbers first = allPathContents(), named = first;
    if (symbols_.areKnown) uniteInto(named, contentsWithNames());
    if (!symbols_.areKnown || !tellsNames || leaves_.size() > 1) first = named;
    else uniteInto(first, contentsCovered());
    const Numbers ofNamed = bothOf(contents, named), ofFirst = bothOf(ofNamed, first);
    if (ofFirst.size() == contents.size()) return {whole};
    findGroups();
    vector<Tier> tiers;
    if (!ofFirst.empty()) tiers.push_back({ofFirst, Naming::whole, 1});
    addByWeight(tiers, without(ofNamed, ofFirst), Naming::partial);
    addByWeight(tiers, without(contents, ofNamed), Naming::none);
    return tiers;
  }

  void addByWeight(vector<Tier>& tiers, const Numbers& contents, Naming naming) const {
    for (size_t weight = 0; weight < std::size(largestWeights); weight++) {
      Numbers own;
      for (uint32_t content : contents) {
        if (groupOf(content) / depthCount == weight) own.push_back(content);
      }
      if (!own.empty()) tiers.push_back({own, naming, largestWeights[weight]});
    }
  }

  // Those with a symbol whose name may have no letters but those of the only word, which it may have several times. All other
  // names are partial: further matches cover nothing. In ascending order.
  Numbers contentsCovered() {
    Numbers contents;
    const std::string_view word = words_.words.front().lowered;
    uint32_t key = emptyKey;
    for (size_t i = 0; i < coveringMatchesMax; i++) {
      key = addToKey(key, word);
      if (key != emptyKey) addNamed(key, contents);
    }
    if (leaves_.front().given->reachesFurther) {
      const WordList& exceptions = symbols_.foldExceptions;
      for (size_t i = 0; i < exceptions.length; i++) {
        require(exceptions[i] < symbols_.contents.length);
        contents.push_back(contentOfPart(exceptions[i]));
      }
    }
    std::sort(contents.begin(), contents.end());
    contents.erase(std::unique(contents.begin(), contents.end()), contents.end());
    return contents;
  }

  // The contents with a symbol whose name may contain some literal. Caller guarantees: the symbols have postings.
  const Numbers& contentsWithNames() {
    if (areNamesFound_) return withNames_;
    for (const Leaf& leaf : leaves_) uniteInto(withNames_, contentsWithNames(leaf));
    areNamesFound_ = true;
    return withNames_;
  }

  Numbers contentsWithNames(const Leaf& leaf) const {
    Numbers units, parts;
    size_t cost;
    checkStop();
    const size_t partCount = symbols_.contents.length;
    findUnits(symbols_.postings, leaf.given->literal, symbols_.firstUnits[partCount], units, cost);
    findContents(units, symbols_.firstUnits, partCount, parts);
    if (leaf.given->reachesFurther) {
      const WordList& exceptions = symbols_.foldExceptions;
      uniteInto(parts, Numbers(exceptions.data, exceptions.data + exceptions.length));
    }
    Numbers contents;
    for (uint32_t part : parts) {
      require(part < partCount);
      const uint32_t content = contentOfPart(part);
      if (contents.empty() || contents.back() != content) contents.push_back(content);
    }
    return contents;
  }

  // How much of other contents is ranked depends on the matches of those that may be named: these are examined then.
  void decideTier(const Tier& tier, bool areAll) {
    const uint32_t best = scoreOf(boundOf(words_, PathFeatures(), matchesBeyondScore, tier.weightMax, tier.naming));
    const bool mayStop = tier.naming == Naming::none || areAll || foundMatches_ >= job_.limits.rankedMatches;
    const size_t countMax = tier.naming == Naming::whole ? blockContentsMax : otherContentsMax;
    startOver();
    for (size_t at = 0; at < tier.contents.size();) {
      if (tier.naming != Naming::whole && mayStop && !best_.wants(best)) {
        totals_.isComplete = 0;
        return;
      }
      const size_t first = at;
      at = blockEnd(tier.contents, first, countMax);
      decideBlock(tier.contents.data() + first, at - first);
      for (const BlockDocument& one : documents_)
        scoreOne(one, tier.contents[first + one.index] < shard_.contentCount(), tier.naming);
      examined_.insert(examined_.end(), tier.contents.begin() + static_cast<ptrdiff_t>(first), tier.contents.begin() + static_cast<ptrdiff_t>(at));
      share();
    }
    if (tier.naming != Naming::none) namedMatches_ = foundMatches_;
  }

  size_t blockEnd(const Numbers& contents, size_t first, size_t countMax) const {
    size_t at = first;
    for (size_t bytes = 0; at < contents.size() && at - first < countMax && bytes < blockBytesMax; at++) bytes += bytesOf(contents[at]);
    return at;
  }

  // Ranks or counts what is in the other candidates: those that were not chosen, then the chosen ones that were not worth ranking.
  void decideOthers(const Numbers& candidates, const Numbers& chosen) {
    std::sort(examined_.begin(), examined_.end());
    const Numbers others = without(candidates, chosen), dropped = without(chosen, examined_);
    requireNoFolded(others);
    chosenMatches_ = foundMatches_;
    scannedMax_ = totals_.scannedBytes + std::min(job_.limits.othersBytesMax, UINT32_MAX - totals_.scannedBytes);
    for (const Tier& tier : divide(others, false)) {
      if (!decideOtherTier(tier, true)) return;
    }
    if (decideOtherTier({dropped, Naming::none, 0}, false)) totals_.isComplete = 1;
  }

  // False if contents are left. What is ranked depends on the shard only, unlike what is counted.
  bool decideOtherTier(const Tier& tier, bool mayRank) {
    const bool mayBeNamed = tier.naming != Naming::none;
    const uint32_t best = scoreOf(boundOf(words_, PathFeatures(), matchesBeyondScore, tier.weightMax, Naming::none));
    startOver();
    for (size_t at = 0; at < tier.contents.size();) {
      // Without the chosen ones that cannot be named: whether those are examined depends on what the thread has ranked before.
      const uint64_t enough = namedMatches_ + foundMatches_ - chosenMatches_;
      const bool ranks = mayRank && enough < job_.limits.rankedMatches && (mayBeNamed || best_.wants(best));
      if (totals_.scannedBytes >= scannedMax_ || (!ranks && !mayCount())) return false;
      const size_t first = at;
      at = blockEnd(tier.contents, first, otherContentsMax);
      decideBlock(tier.contents.data() + first, at - first);
      for (const BlockDocument& one : documents_) {
        if (ranks) {
          scoreOne(one, tier.contents[first + one.index] < shard_.contentCount(), tier.naming);
          continue;
        }
        gatherRows(one);
        find(one.document, rows_.size() / 2, isInPath(one.document));
      }
      share();
    }
    return true;
  }

  bool mayCount() const {
    return totals_.isListed != 0 && __atomic_load_n(job_.sharedMatches, __ATOMIC_RELAXED) < job_.limits.countedMatches;
  }

  // Tells the other threads what is listed, as far as the number has room for it.
  void share() {
    const uint64_t more = foundMatches_ - sharedMatches_;
    sharedMatches_ = foundMatches_;
    if (totals_.isListed == 0 || more == 0) return;
    uint32_t before = __atomic_load_n(job_.sharedMatches, __ATOMIC_RELAXED), after;
    do {
      after = static_cast<uint32_t>(std::min<uint64_t>(before + more, UINT32_MAX));
    } while (!__atomic_compare_exchange_n(job_.sharedMatches, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  }

  bool isInPath(uint32_t document) const {
    for (const Leaf& leaf : leaves_) {
      if (leaf.isInPath(document)) return true;
    }
    return false;
  }

  // Before blocks of contents in ascending order.
  void startOver() {
    for (Leaf& leaf : leaves_) leaf.unitCursor = 0;
    documentsEnd_ = 0;
    textEnd_ = 0;
  }

  // Sets `documents_` to the results in these contents.
  void decideBlock(const uint32_t* contents, size_t count) {
    checkStop();
    documents_.clear();
    texts_.clear();
    for (size_t i = 0; i < count; i++) {
      texts_.push_back(textAfter(contents[i]));
      const auto [from, to] = documentsAfter(documentsEnd_, contents[i]);
      spend(to - from);
      for (size_t document = from; document < to; document++) {
        if (isSearched(document)) documents_.push_back({static_cast<uint32_t>(document), static_cast<uint32_t>(i)});
      }
    }
    totals_.filteredCount += static_cast<uint32_t>(documents_.size());
    for (Leaf* leaf : cheapestFirst()) keepWith(*leaf, contents, count);
    totals_.matchedCount += static_cast<uint32_t>(documents_.size());
  }

  // Contents do not overlap, so that each row is in the one that it is given to.
  TextRange textAfter(uint32_t content) {
    if (content >= shard_.contentCount()) return {textEnd_, textEnd_};
    const uint32_t from = shard_.contentStart[content], to = shard_.contentStart[content + 1];
    require(textEnd_ <= from && from <= to && to <= shard_.content.length);
    textEnd_ = to;
    return {from, to};
  }

  vector<Leaf*> cheapestFirst() {
    vector<Leaf*> leaves;
    for (Leaf& leaf : leaves_) leaves.push_back(&leaf);
    std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf* a, const Leaf* b) { return a->contents.size() < b->contents.size(); });
    return leaves;
  }

  // Keeps the documents of the block that have the literal in their text or path.
  void keepWith(Leaf& leaf, const uint32_t* contents, size_t count) {
    leaf.rowFrom.assign(count, 0);
    leaf.rowTo.assign(count, 0);
    ranges_.clear();
    checkStop();
    size_t last = SIZE_MAX;
    for (const BlockDocument& one : documents_) {
      if (one.index != last) addRanges(leaf, contents[one.index], texts_[one.index]);
      last = one.index;
    }
    scan(leaf, shard_.content, ranges_.data(), ranges_.size() / 3, false);
    size_t row = 0;
    last = SIZE_MAX;
    for (const BlockDocument& one : documents_) {
      if (one.index == last || contents[one.index] >= shard_.contentCount()) continue;
      last = one.index;
      leaf.rowFrom[last] = static_cast<uint32_t>(row);
      while (row < leaf.rowCount && leaf.rows[2 * row] < texts_[last].to) row++;
      leaf.rowTo[last] = static_cast<uint32_t>(row);
    }
    std::erase_if(documents_, [&](const BlockDocument& one) {
      return leaf.rowTo[one.index] == leaf.rowFrom[one.index] && !leaf.isInPath(one.document);
    });
  }

  // Adds the units of the content in which the literal can start; adjacent ones are one range.
  void addRanges(Leaf& leaf, uint32_t content, const TextRange& text) {
    if (content >= shard_.contentCount()) return;
    const uint32_t firstUnit = shard_.contentFirstUnit[content], endUnit = shard_.contentFirstUnit[content + 1];
    const size_t start = text.from, end = text.to;
    const Numbers& units = leaf.units;
    size_t at = std::lower_bound(units.begin() + static_cast<ptrdiff_t>(leaf.unitCursor), units.end(), firstUnit) - units.begin();
    while (at < units.size() && units[at] < endUnit) {
      const uint32_t from = units[at++];
      uint32_t to = from + 1;
      while (at < units.size() && units[at] == to && to < endUnit) {
        at++;
        to++;
      }
      const size_t rangeFrom = start + (from - firstUnit) * unitBytes, rangeTo = std::min(end, start + (to - firstUnit) * unitBytes);
      require(rangeFrom <= rangeTo);
      ranges_.insert(ranges_.end(), {static_cast<uint32_t>(rangeFrom), static_cast<uint32_t>(rangeTo), text.to});
      totals_.scannedBytes += static_cast<uint32_t>(rangeTo - rangeFrom);
    }
    leaf.unitCursor = at;
  }

  // Sets `rows_` to the rows of the document: of several literals, those that do not overlap an earlier or longer one.
  void gatherRows(const BlockDocument& one) {
    rows_.clear();
    size_t withRows = 0;
    for (const Leaf& leaf : leaves_) {
      const size_t from = leaf.rowFrom[one.index], to = leaf.rowTo[one.index];
      withRows += to > from;
      rows_.insert(rows_.end(), leaf.rows.begin() + static_cast<ptrdiff_t>(2 * from), leaf.rows.begin() + static_cast<ptrdiff_t>(2 * to));
    }
    spend(documentWork + rowWork * rows_.size());
    if (withRows < 2) return;
    require(rows_.size() <= 2 * sortedRowsMax);
    makeDisjoint(rows_);
  }

  void gatherPathRows(uint32_t document) {
    pathRows_.clear();
    for (const Leaf& leaf : leaves_) {
      if (!leaf.isInPath(document)) continue;
      const Text path = pathOf(document);
      spend(path.length);
      const std::string_view text = leaf.given->fold ? lowered(path, pathBuffer_) : std::string_view(reinterpret_cast<const char*>(path.data), path.length);
      const std::string_view literal(reinterpret_cast<const char*>(leaf.given->literal.data), leaf.given->literal.length);
      for (size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + literal.size())) {
        pathRows_.push_back(static_cast<uint32_t>(at));
        pathRows_.push_back(static_cast<uint32_t>(at + literal.size()));
      }
    }
    if (pathRows_.size() > 2) makeDisjoint(pathRows_);
  }

  static void makeDisjoint(Numbers& rows) {
    vector<std::pair<uint32_t, uint32_t>> pairs;
    pairs.reserve(rows.size() / 2);
    for (size_t i = 0; i < rows.size(); i += 2) pairs.emplace_back(rows[i], rows[i + 1]);
    std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
    rows.clear();
    uint32_t last = 0;
    for (const auto& [from, to] : pairs) {
      if (!rows.empty() && from < last) continue;
      last = to;
      rows.push_back(from);
      rows.push_back(to);
    }
  }

  void scoreOne(const BlockDocument& one, bool hasContent, Naming inContent) {
    gatherRows(one);
    gatherPathRows(one.document);
    const size_t rowCount = rows_.size() / 2;
    find(one.document, rowCount, !pathRows_.empty());
    const Text path = pathOf(one.document);
    spend(path.length);
    const std::string_view lower = lowered(path, lowered_);
    const double fileFactor = weighText(lower, one.document);
    const PathFeatures inPath = findInPath(words_, lower);
    const Naming naming = hasContent && rowCount > 0 && symbols_.areKnown ? inContent : Naming::none;
    const auto isBound = [&](Naming bound) {
      return !best_.wants(scoreOf(boundOf(words_, inPath, static_cast<uint32_t>(rowCount), fileFactor, bound)));
    };
    if (isBound(naming)) return;
    ScoredDocument document = {};
    document.text = shard_.content;
    document.textFrom = texts_[one.index].from;
    document.textTo = texts_[one.index].to;
    document.rows = rows_.data();
    document.rowCount = rowCount;
    document.fileFactor = fileFactor;
    document.kindFactors = symbols_.kindFactors;
    document.kindCount = symbols_.kindCount;
    if (naming != Naming::none) {
      findPlaces(one.document, document);
      if (document.placeCount == 0 && isBound(Naming::none)) return;
    }
    const uint32_t score = scoreOf(findFeatures(words_, inPath, document));
    if (best_.wants(score)) keep(one.document, path, score, rowCount);
  }

  void findPlaces(uint32_t document, ScoredDocument& scored) {
    const size_t part = lastAtMost(symbols_.firstDocuments, document, symbols_.contents.length);
    require(part < symbols_.contents.length);
    const uint32_t from = symbols_.recordStarts[part], to = symbols_.recordStarts[part + 1];
    require(from <= to && to <= symbols_.records.length && to - from <= recordBytesMax);
    spend(to - from);
    scored.record = {symbols_.records.data + from, to - from};
    places_.resize(symbolsMax * placeWordCount);
    const PlacesJob job = {scored.record, scored.textFrom, scored.textTo, scored.rows, 0, scored.rowCount, symbolsMax, places_.data(), symbolsMax};
    scored.placeCount = symbolsAtRows(job);
    scored.places = places_.data();
  }

  // Notes a result.
  void find(uint32_t document, size_t rowCount, bool isInPath) {
    totals_.foundCount++;
    foundMatches_ += std::max<size_t>(1, rowCount);
    if (totals_.isListed == 0) return;
    if (rowCount > job_.limits.fullRowsMax || totals_.listedCount == listedDocumentsMax || 2 * totals_.listedCount + 2 > job_.foundLength) {
      totals_.isListed = 0;
      return;
    }
    job_.found[2 * totals_.listedCount] = document;
    job_.found[2 * totals_.listedCount + 1] = static_cast<uint32_t>(rowCount) + (isInPath ? rangesInPath : 0);
    totals_.listedCount++;
  }

  // How many matches of the document count for the limit of the search, at least.
  uint32_t countMatches(size_t rowCount) const {
    const uint32_t max = job_.limits.countedRowsMax;
    if (max == notCounted || rowCount > max) return 0;
    return static_cast<uint32_t>(std::max<size_t>(1, rowCount));
  }

  void keep(uint32_t document, Text path, uint32_t score, size_t rowCount) {
    uint32_t rangesAt = rangesUnknown;
    if (job_.limits.keepsRanges && rowCount + pathRows_.size() / 2 <= keptRangesMax) {
      if (arena_.size() >= arenaWordsMax_) dropRanges();
      rangesAt = static_cast<uint32_t>(arena_.size());
      arena_.push_back(static_cast<uint32_t>(rowCount));
      arena_.push_back(static_cast<uint32_t>(pathRows_.size() / 2));
      arena_.insert(arena_.end(), rows_.begin(), rows_.end());
      arena_.insert(arena_.end(), pathRows_.begin(), pathRows_.end());
    }
    best_.offer({document, score, countMatches(rowCount), repositoryOf(document)[1],
                 std::string(reinterpret_cast<const char*>(path.data), path.length), rangesAt});
  }

  // Forgets the ranges of documents that are no longer among the best.
  void dropRanges() {
    Numbers own;
    for (Kept& one : best_.documents()) {
      if (one.rangesAt == rangesUnknown) continue;
      const auto from = arena_.begin() + static_cast<ptrdiff_t>(one.rangesAt);
      one.rangesAt = static_cast<uint32_t>(own.size());
      own.insert(own.end(), from, from + 2 + 2 * static_cast<ptrdiff_t>(from[0] + from[1]));
    }
    arena_.swap(own);
    arenaWordsMax_ = std::max(arenaWordsMin, 2 * arena_.size());
  }

  void write() {
    size_t at = 0;
    const vector<Kept>& kept = best_.documents();
    for (const Kept& one : kept) {
      const bool hasRanges = one.rangesAt != rangesUnknown;
      const uint32_t rowCount = hasRanges ? arena_[one.rangesAt] : rangesUnknown;
      const uint32_t pathRowCount = hasRanges ? arena_[one.rangesAt + 1] : 0;
      const size_t length = hasRanges ? 2 * (rowCount + pathRowCount) : 0;
      const uint32_t words[keptWordCount] = {one.document, one.score, one.matchCount, rowCount, pathRowCount};
      memcpy(job_.kept + at, words, sizeof words);
      at += keptWordCount;
      if (length > 0) memcpy(job_.kept + at, arena_.data() + one.rangesAt + 2, length * sizeof(uint32_t));
      at += length;
    }
    totals_.keptCount = static_cast<uint32_t>(kept.size());
    totals_.keptWords = static_cast<uint32_t>(at);
  }

  const RankJob& job_;
  const RankedShard& shard_;
  const RankedSymbols& symbols_;
  const ScoredWords& words_;
  RankTotals& totals_;
  Best best_;
  vector<Leaf> leaves_;
  // Of the block.
  vector<TextRange> texts_;
  vector<BlockDocument> documents_;
  // The ends of the contents of earlier blocks, and of their documents.
  uint32_t textEnd_ = 0;
  size_t documentsEnd_ = 0;
  // The contents that were examined; not in order.
  Numbers examined_;
  // The contents that may have a name with a literal, once they are wanted.
  Numbers withNames_;
  bool areNamesFound_ = false;
  // The matches that were found, and how many of them the other threads know.
  uint64_t foundMatches_ = 0, sharedMatches_ = 0;
  // Of the chosen contents, and of those of them that may be named.
  uint64_t chosenMatches_ = 0, namedMatches_ = 0;
  uint32_t scannedMax_ = 0;
  Numbers ranges_, rows_, pathRows_, places_, arena_;
  // Of the rows of all leaves.
  size_t rowWords_ = 0;
  size_t arenaWordsMax_ = arenaWordsMin;
  // Since the last check of the stop flag.
  size_t work_ = 0;
  std::string lowered_, pathBuffer_;
};

}  // namespace

size_t keptLength(const uint32_t* kept) {
  const uint32_t rowCount = kept[3], pathRowCount = kept[4];
  return keptWordCount + (rowCount == rangesUnknown ? 0 : 2 * (size_t(rowCount) + pathRowCount));
}

// As `BestDocuments`: which of several documents with one score come first does not matter for the score of the last one.
void BestScores::add(const uint32_t* kept, size_t keptCount) {
  for (size_t i = 0; i < keptCount; i++, kept += keptLength(kept)) scores_.push_back({kept[1], kept[2]});
  std::sort(scores_.begin(), scores_.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  uint64_t matchCount = 0;
  for (size_t i = 0; i < scores_.size(); i++) {
    matchCount += scores_[i].matchCount;
    if (i + 1 < limits_.keptDocuments && matchCount < limits_.keptMatches) continue;
    scores_.resize(i + 1);
    least_ = std::max(least_, scores_[i].score);
  }
}

RankOutcome rankShard(const RankJob& job, RankTotals* totals) {
  *totals = {};
  try {
    ShardRanker(job, *totals).run();
    return RankOutcome::done;
  } catch (const Refusal&) {
    return RankOutcome::refused;
  } catch (const Stopped&) {
    return RankOutcome::stopped;
  } catch (const std::bad_alloc&) {
    return RankOutcome::refused;
  }
}

}  // namespace trawl
