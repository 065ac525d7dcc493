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
    if (start < job.namesFrom || !walk.seek(start - job.namesFrom)) return false;
    job.out[row - job.rowFrom] = walk.kind;
  }
  return true;
}

}  // namespace trawl
