#include "bindings.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "answers.h"
#include "arguments.h"
#include "ranking.h"

namespace trawl {
namespace {

constexpr size_t sectionArgumentCount = 16;
constexpr size_t symbolArgumentCount = 14;
constexpr size_t queryLeavesMax = 30;

WordList list(const Words& words) { return {words.data, words.length}; }

WordList list(Arguments& given, size_t index) { return list(given.words(index)); }

// Whether the arrays have the lengths that the others require, so that only values have to be checked later.
bool isSound(const RankedShard& shard) {
  const size_t documentCount = shard.documentCount();
  const bool arePathTrigramsSound = shard.pathTrigrams.length == 0 || shard.pathTrigrams.length == 2048;
  return shard.contentStart.length > 0 && shard.contentFirstUnit.length == shard.contentStart.length &&
         shard.contentFirstDocument.length == shard.contentStart.length + 1 && shard.documentBranches.length == documentCount &&
         shard.documentInfo.length == documentCount && shard.pathStart.length == documentCount + 1 && shard.postings.starts.length == shard.postings.keys.length + 1 &&
         shard.groupsLength == shard.contentStart.length &&
         shard.foldPlaces.length % 2 == 0 && arePathTrigramsSound;
}

bool isSound(const RankedSymbols& symbols) {
  const size_t partCount = symbols.contents.length;
  return symbols.firstDocuments.length >= partCount && symbols.firstUnits.length == partCount + 1 &&
         symbols.recordStarts.length == partCount + 1 && symbols.nameKeys.length == symbols.nameParts.length &&
         symbols.postings.starts.length == symbols.postings.keys.length + 1 && symbols.kindCount > 0;
}

// The arguments from the first one on, in the order of `openArguments` of ranking-kernel.ts.
RankedShard shardAt(Arguments& given) {
  RankedShard shard = {};
  shard.content = given.bytes(0);
  shard.contentStart = list(given, 1);
  shard.contentFirstUnit = list(given, 2);
  shard.contentFirstDocument = list(given, 3);
  shard.documentRepository = list(given, 4);
  shard.documentBranches = list(given, 5);
  shard.documentInfo = list(given, 6);
  shard.pathStart = list(given, 7);
  shard.paths = given.bytes(8);
  shard.postings = {list(given, 9), list(given, 10), given.bytes(11)};
  shard.pathTrigrams = list(given, 12);
  shard.foldExceptions = list(given, 13);
  shard.foldPlaces = list(given, 14);
  Text groups = given.bytes(15);
  shard.groups = const_cast<uint8_t*>(groups.data);
  shard.groupsLength = groups.length;
  given.need(given.sound() && isSound(shard));
  return shard;
}

// Those that follow.
RankedSymbols symbolsAt(Arguments& given, size_t at) {
  RankedSymbols symbols = {};
  symbols.areKnown = given.flag(at);
  symbols.havePostings = given.flag(at + 1);
  symbols.contents = list(given, at + 2);
  symbols.firstDocuments = list(given, at + 3);
  symbols.firstUnits = list(given, at + 4);
  symbols.recordStarts = list(given, at + 5);
  symbols.postings = {list(given, at + 6), list(given, at + 7), given.bytes(at + 8)};
  symbols.foldExceptions = list(given, at + 9);
  symbols.nameKeys = list(given, at + 10);
  symbols.nameParts = list(given, at + 11);
  symbols.records = given.bytes(at + 12);
  Arguments::Doubles factors = given.doubles(at + 13);
  symbols.kindFactors = factors.data;
  symbols.kindCount = factors.length;
  given.need(given.sound() && isSound(symbols));
  return symbols;
}

// The object that `openRanked` returns. Its arrays are those of the arguments, which it keeps alive.
struct OpenRanked : External {
  static constexpr uint32_t externalKind = 2;

  OpenRanked(napi_env env, const RankedShard& shard, const RankedSymbols& symbols) : External{externalKind}, env(env), shard(shard), symbols(symbols) {}
  ~OpenRanked() {
    if (arrays != nullptr) napi_delete_reference(env, arrays);
  }

  // False if there is no memory.
  bool keep(napi_value* values, size_t count) {
    napi_value all;
    if (napi_create_array_with_length(env, count, &all) != napi_ok) return false;
    for (size_t i = 0; i < count; i++) {
      if (napi_set_element(env, all, static_cast<uint32_t>(i), values[i]) != napi_ok) return false;
    }
    return napi_create_reference(env, all, 1, &arrays) == napi_ok;
  }

  napi_env env;
  RankedShard shard;
  RankedSymbols symbols;
  napi_ref arrays = nullptr;
};

// openRanked(...sections, ...symbols)
napi_value open(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  const RankedShard shard = shardAt(given);
  const RankedSymbols symbols = symbolsAt(given, sectionArgumentCount);
  if (!given.sound()) return misuse(env, "openRanked");
  auto opened = std::make_unique<OpenRanked>(env, shard, symbols);
  if (!opened->keep(given.values(), sectionArgumentCount + symbolArgumentCount)) return outOfMemory(env, "the system has no memory for an open shard");
  return createExternal(env, std::move(opened));
}

// Reads a query as `WordQuery` of ranking-kernel.ts packs it: numbers, and ranges of `text`.
class QueryWords {
 public:
  QueryWords(Arguments& given, Text text, Words words) : given_(given), text_(text), words_(words) {}

  RankedQuery read() {
    RankedQuery query;
    const uint32_t leafCount = next(), wordCount = next(), nameCount = next();
    query.words.count = next();
    given_.need(leafCount > 0 && leafCount <= queryLeavesMax && query.words.count > 0 && query.words.count <= queryLeavesMax);
    for (uint32_t i = 0; i < leafCount && given_.sound(); i++) {
      const Text literal = range(next());
      const uint32_t flags = next();
      given_.need(literal.length >= 3);
      query.leaves.push_back({literal, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0});
    }
    for (uint32_t i = 0; i < wordCount && given_.sound(); i++) {
      const Text lowered = range(next()), typed = range(next());
      given_.need(lowered.length == typed.length && lowered.length > 0);
      const uint32_t bits = next(), letters = next();
      query.words.words.push_back({view(lowered), view(typed), bits, letters});
    }
    for (uint32_t i = 0; i < nameCount && given_.sound(); i++) {
      const uint32_t key = next();
      query.names.push_back({key, next() == 1});
    }
    return query;
  }

 private:
  uint32_t next() {
    given_.need(at_ < words_.length);
    return given_.sound() ? words_.data[at_++] : 0;
  }

  Text range(uint32_t from) {
    const uint32_t length = next();
    given_.need(from <= text_.length && length <= text_.length - from);
    return given_.sound() ? Text{text_.data + from, length} : Text{text_.data, 0};
  }

  static std::string_view view(Text text) { return {reinterpret_cast<const char*>(text.data), text.length}; }

  Arguments& given_;
  Text text_;
  Words words_;
  size_t at_ = 0;
};

RankLimits limitsAt(const Words& words) {
  const uint32_t* word = words.data;
  return {word[0], word[1], word[2], word[3], word[4], word[5], word[6] != 0, word[7] != 0, word[8], word[9], word[10], word[11]};
}

// Of `limits`: those of each shard, and the work after which a call returns.
constexpr size_t limitCount = 12;

// What a call says of a shard, as words: its number, how it ended, and the totals.
constexpr size_t recordHeadLength = 2, recordLength = recordHeadLength + rankTotalCount;

// Before the records: no document with a lower score can be among the best of all.
constexpr size_t headLength = 1;

// To decode and to score a candidate takes as long as reading so many bytes.
constexpr uint64_t candidateBytes = 2048;

// Where a call writes, of which each shard takes a part.
struct Output {
  uint32_t* words;
  size_t length, used;

  bool hasRoom(size_t count) const { return length - used >= count; }
  uint32_t* end() const { return words + used; }
};

// Ranks shards that nobody has taken, one after the other.
class ShardsRanking {
 public:
  // The arguments from the first one on: shards, text, query, limits, stop, shared, next, kept, found, totals.
  explicit ShardsRanking(Arguments& given) : given_(given), query_(QueryWords(given, given.bytes(1), given.words(2)).read()) {
    const Words limits = given.words(3), shared = given.words(5), next = given.words(6);
    job_.loops = static_cast<const Loops*>(given.data());
    job_.query = &query_;
    job_.stop = given.stopFlags(4);
    kept_ = output(7);
    found_ = output(8);
    totals_ = output(9);
    shardCount_ = given.elementCount(0) / elementsPerShard;
    given.need(limits.length == limitCount + 1 && shared.length == 1 && next.length == 1);
    if (!given.sound()) return;
    limits_ = limitsAt(limits);
    workMax_ = limits.data[limitCount];
    job_.sharedMatches = shared.data;
    next_ = next.data;
    given.need(limits_.contentsMax > 0 && totals_.hasRoom(headLength));
    if (!given.sound()) return;
    totals_.used = headLength;
    given.need(hasRoom());
  }

  // Returns how many it has dealt with, of which the last one may not be done.
  size_t run() {
    BestScores scores(limits_);
    size_t count = 0;
    uint64_t work = 0;
    job_.listWork = &work;
    uint32_t taken;
    while (work <= workMax_ && hasRoom() && !job_.stop.areSet() && take(taken)) {
      count++;
      RankTotals totals = {};
      const uint32_t outcome = isOpen(taken) ? rank(taken, scores, totals) : notOpen;
      // A value of the shard has the wrong type.
      if (!given_.sound()) return count;
      const uint32_t head[recordHeadLength] = {taken, outcome};
      memcpy(totals_.end(), head, sizeof head);
      memcpy(totals_.end() + recordHeadLength, &totals, sizeof totals);
      totals_.used += recordLength;
      if (outcome != static_cast<uint32_t>(RankOutcome::done)) break;
      work += totals.scannedBytes + candidateBytes * totals.candidateCount;
    }
    totals_.words[0] = scores.least();
    return count;
  }

 private:
  // For each shard: what `openRanked` has returned, or undefined if it is not open; tombstones, repositories and verdicts.
  static constexpr uint32_t elementsPerShard = 4;
  static constexpr uint32_t notOpen = static_cast<uint32_t>(RankOutcome::stopped) + 1;

  Output output(size_t index) {
    const Words words = given_.words(index);
    return {words.data, words.length, 0};
  }

  bool hasRoom() const {
    return kept_.hasRoom(keptWordsMax(limits_.keptDocuments)) && totals_.hasRoom(recordLength) &&
           (found_.used == 0 || found_.hasRoom(2 * listedDocumentsMax));
  }

  // False if none is left.
  bool take(uint32_t& taken) {
    taken = __atomic_load_n(next_, __ATOMIC_RELAXED);
    do {
      if (taken >= shardCount_) return false;
    } while (!__atomic_compare_exchange_n(next_, &taken, taken + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
  }

  bool isOpen(uint32_t shard) { return !given_.isUndefined(given_.element(0, shard * elementsPerShard)); }

  uint32_t rank(uint32_t shard, BestScores& scores, RankTotals& totals) {
    const uint32_t at = shard * elementsPerShard;
    const OpenRanked* opened = given_.externalIn<OpenRanked>(given_.element(0, at));
    const Words tombstones = given_.wordsIn(given_.element(0, at + 1)), repositories = given_.wordsIn(given_.element(0, at + 2));
    const Text verdicts = given_.bytesIn(given_.element(0, at + 3));
    given_.need(opened != nullptr && (verdicts.length == 0 || verdicts.length == opened->shard.documentCount()));
    if (!given_.sound()) return notOpen;
    job_.shard = opened->shard;
    job_.symbols = opened->symbols;
    job_.shard.tombstones = list(tombstones);
    job_.shard.repositories = list(repositories);
    job_.shard.verdicts = verdicts;
    job_.limits = limits_;
    job_.limits.scoreMin = scores.least();
    job_.kept = kept_.end();
    job_.found = found_.end();
    job_.foundLength = found_.length - found_.used;
    const RankOutcome outcome = rankShard(job_, &totals);
    if (outcome != RankOutcome::done) return static_cast<uint32_t>(outcome);
    scores.add(job_.kept, totals.keptCount);
    kept_.used += totals.keptWords;
    if (totals.isListed != 0) found_.used += 2 * size_t(totals.listedCount);
    return static_cast<uint32_t>(outcome);
  }

  Arguments& given_;
  const RankedQuery query_;
  RankJob job_ = {};
  RankLimits limits_ = {};
  uint32_t workMax_ = 0;
  size_t shardCount_ = 0;
  uint32_t* next_ = nullptr;
  Output kept_ = {}, found_ = {}, totals_ = {};
};

napi_value rank(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  ShardsRanking ranking(given);
  if (!given.sound()) return misuse(env, "rankShards");
  const size_t count = ranking.run();
  if (!given.sound()) return misuse(env, "rankShards: a shard");
  return number(env, count);
}

}  // namespace

bool addRankingFunction(napi_env env, napi_value kernel, const Loops* loops) {
  return addFunction(env, kernel, {"openRanked", guarded<open>}, nullptr) && addFunction(env, kernel, {"rankShards", guarded<rank>}, loops);
}

}  // namespace trawl
