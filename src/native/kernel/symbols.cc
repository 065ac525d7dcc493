#include "symbols.h"

#include "symbol-records.h"

namespace trawl {

bool copySymbolNames(const NamesJob& job) {
  SymbolWalk walk(job.record, job.textFrom, job.textTo);
  if (!walk.start({})) return false;
  size_t at = job.outFrom;
  while (!walk.isAtEnd()) {
    if (!walk.next() || walk.length >= job.outTo - at) return false;
    const uint8_t* name = walk.isStored ? job.record.data + walk.storedFrom : job.text.data + walk.from;
    memcpy(job.out + at, name, walk.length);
    at += walk.length;
    job.out[at++] = '\n';
  }
  return at == job.outTo;
}

bool symbolKinds(const KindsJob& job) {
  SymbolWalk walk(job.record, 0, SIZE_MAX);
  if (!walk.start({})) return false;
  for (size_t row = job.rowFrom; row < job.rowTo; row++) {
    const size_t start = job.rows[2 * row];
    if (!walk.seek(start - job.namesFrom)) return false;
    job.out[row - job.rowFrom] = walk.kind;
  }
  return true;
}

size_t symbolsAtRows(const PlacesJob& job) {
  SymbolWalk walk(job.record, job.textFrom, job.textTo);
  if (job.rowFrom == job.rowTo || !walk.start({})) return 0;
  const size_t end = job.rows[2 * job.rowTo - 1];
  size_t row = job.rowFrom, found = 0, seen = 0;
  while (seen < job.symbolsMax && found < job.outCount) {
    // What ends before the next row does contains neither it nor a later one.
    seen += walk.skipNames(job.rows[2 * row + 1], job.symbolsMax - seen);
    if (seen == job.symbolsMax || !walk.next()) break;
    if (walk.isStored) continue;
    const size_t from = walk.from, to = from + walk.length;
    if (from >= end) break;
    seen++;
    while (row < job.rowTo && job.rows[2 * row] < from) row++;
    if (row == job.rowTo) break;
    if (job.rows[2 * row + 1] > to) continue;
    const uint32_t words[placeWordCount] = {walk.from, static_cast<uint32_t>(to), walk.kind, walk.reference()};
    memcpy(job.out + found++ * placeWordCount, words, sizeof words);
  }
  return found;
}

}  // namespace trawl
