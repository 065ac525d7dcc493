// The state that the writers of `lineMatches` and of `chunkMatches` share.
#pragma once

#include "json-writer.h"
#include "lines.h"
#include "loops.h"
#include "utf8.h"

namespace trawl {

template <class V>
struct ElementsEncoder {
  const EncodeJob& job;
  Lines<V> lines;
  JsonWriter<V> json;
  // The next row, and the line that contains its start.
  Line line;
  size_t row;

  explicit ElementsEncoder(const EncodeJob& job)
      : job(job), lines{job.text, job.contentFrom, job.contentTo, job.newlines, job.linesBefore},
        json(job.out, job.outFrom, job.outLength), line(lines.lineAt(job.lineHint, job.firstLine)), row(job.rowFrom) {}

  static ElementsEnd misused() { return {Outcome::misuse, 0, 0}; }
};

}  // namespace trawl
