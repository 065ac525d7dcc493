#include "ranking-binding.h"

#include "answers.h"
#include "arguments.h"
#include "ranking.h"

namespace trawl {
namespace {

constexpr size_t shardArgumentCount = 19;
constexpr size_t symbolArgumentCount = 14;
constexpr size_t queryLeavesMax = 30;

WordList list(Arguments& given, size_t index) {
  Words words = given.words(index);
  return {words.data, words.length};
}

// Whether the arrays have the lengths that the others require, so that only values have to be checked later.
bool isSound(const RankedShard& shard) {
  const size_t documentCount = shard.documentCount();
  const bool areVerdictsSound = shard.verdicts.length == 0 || shard.verdicts.length == documentCount;
  const bool arePathTrigramsSound = shard.pathTrigrams.length == 0 || shard.pathTrigrams.length == 2048;
  return shard.contentStart.length > 0 && shard.contentFirstUnit.length == shard.contentStart.length &&
         shard.contentFirstDocument.length == shard.contentStart.length + 1 && shard.documentBranches.length == documentCount &&
         shard.documentInfo.length == documentCount && shard.pathStart.length == documentCount + 1 && shard.postings.starts.length == shard.postings.keys.length + 1 &&
         areVerdictsSound && shard.groupsLength == shard.contentStart.length &&
         shard.foldPlaces.length % 2 == 0 && arePathTrigramsSound;
}

bool isSound(const RankedSymbols& symbols) {
  const size_t partCount = symbols.contents.length;
  return symbols.firstDocuments.length >= partCount && symbols.firstUnits.length == partCount + 1 &&
         symbols.recordStarts.length == partCount + 1 && symbols.nameKeys.length == symbols.nameParts.length &&
         symbols.postings.starts.length == symbols.postings.keys.length + 1 && symbols.kindCount > 0;
}

// The arguments from `at` on, in the order of `shardArguments` of ranking-kernel.ts.
RankedShard shardAt(Arguments& given, size_t at) {
  RankedShard shard = {};
  shard.content = given.bytes(at);
  shard.contentStart = list(given, at + 1);
  shard.contentFirstUnit = list(given, at + 2);
  shard.contentFirstDocument = list(given, at + 3);
  shard.documentRepository = list(given, at + 4);
  shard.documentBranches = list(given, at + 5);
  shard.documentInfo = list(given, at + 6);
  shard.pathStart = list(given, at + 7);
  shard.paths = given.bytes(at + 8);
  shard.postings = {list(given, at + 9), list(given, at + 10), given.bytes(at + 11)};
  shard.pathTrigrams = list(given, at + 12);
  shard.foldExceptions = list(given, at + 13);
  shard.foldPlaces = list(given, at + 14);
  Text groups = given.bytes(at + 15);
  shard.groups = const_cast<uint8_t*>(groups.data);
  shard.groupsLength = groups.length;
  shard.tombstones = list(given, at + 16);
  shard.repositories = list(given, at + 17);
  shard.verdicts = given.bytes(at + 18);
  given.need(given.sound() && isSound(shard));
  return shard;
}

// In the order of `symbolArguments`.
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

RankLimits limitsAt(Arguments& given, size_t index) {
  constexpr size_t limitCount = 12;
  Words words = given.words(index);
  given.need(words.length == limitCount);
  if (!given.sound()) return {};
  const uint32_t* word = words.data;
  return {word[0], word[1], word[2], word[3], word[4], word[5], word[6] != 0, word[7] != 0, word[8], word[9], word[10], word[11]};
}

// rankShard(...shard, ...symbols, text, query, limits, stop, shared, kept, found, totals)
napi_value rank(napi_env env, napi_callback_info info) {
  Arguments given(env, info);
  constexpr size_t at = shardArgumentCount + symbolArgumentCount;
  RankJob job = {};
  job.loops = static_cast<const Loops*>(given.data());
  job.shard = shardAt(given, 0);
  job.symbols = symbolsAt(given, shardArgumentCount);
  const RankedQuery query = QueryWords(given, given.bytes(at), given.words(at + 1)).read();
  job.query = &query;
  job.limits = limitsAt(given, at + 2);
  job.stop = given.stopFlags(at + 3);
  const Words shared = given.words(at + 4);
  job.sharedMatches = shared.data;
  Words kept = given.words(at + 5), found = given.words(at + 6), totals = given.words(at + 7);
  job.kept = kept.data;
  job.keptLength = kept.length;
  job.found = found.data;
  job.foundLength = found.length;
  given.need(shared.length == 1 && totals.length >= rankTotalCount && job.limits.contentsMax > 0);
  if (!given.sound()) return misuse(env, "rankShard");
  RankTotals counted;
  const RankOutcome outcome = rankShard(job, &counted);
  memcpy(totals.data, &counted, sizeof counted);
  return number(env, static_cast<size_t>(outcome));
}

}  // namespace

bool addRankingFunction(napi_env env, napi_value kernel, const Loops* loops) {
  return addFunction(env, kernel, {"rankShard", guarded<rank>}, loops);
}

}  // namespace trawl
