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
  // The next label to write.
  size_t label;

  explicit ElementsEncoder(const EncodeJob& job)
      : job(job), lines{job.text, job.contentFrom, job.contentTo, job.newlines, job.linesBefore},
        json(job.out, job.outFrom, job.outLength), line(lines.lineAt(job.lineHint, job.firstLine)), row(job.rowFrom), label(firstLabel()) {}

  // True if the line is written in parts around its rows.
  bool isLong(const Line& at) const { return job.cutsAround && at.end - at.start > job.lineBytesMax; }

  // The start of the part of a long line in which `position` lies.
  size_t partStart(const Line& at, size_t position) const {
    const size_t before = job.lineBytesMax / 4;
    size_t from = position - at.start > before ? position - before : at.start;
    for (int i = 0; i < 3 && from > at.start && from < position && isContinuation(job.text.data[from]); i++) from++;
    return from;
  }

  // The last position whose labels belong to the part of a long line that ends before the next row.
  size_t labelsEnd(const Line& at) const {
    return row < job.rowTo && rowAt(job, row).start <= at.end ? rowAt(job, row).start - 1 : at.end;
  }

  void writeLineStart(const Line& at, size_t from, uint32_t column) {
    json.raw(",\"lineStart\":{\"byte\":");
    json.number(static_cast<uint32_t>(from - at.start));
    json.raw(",\"column\":");
    json.number(column);
    json.raw("}");
  }

  static ElementsEnd misused() { return {Outcome::misuse, 0, 0}; }

  // Writes the labels that begin on lines up to the one that ends at `lineEnd`, except those written before. Labels that
  // begin after the last row belong to rows that are not written.
  void writeLabels(size_t lineEnd) {
    if (job.labelCount == 0) return;
    const size_t rowsEnd = rowAt(job, job.rowTo - 1).end;
    bool isFirst = true;
    json.raw(",\"patterns\":[");
    for (; label < job.labelCount && !json.full; label++) {
      const uint32_t* words = job.labels + 3 * label;
      if (words[0] > lineEnd || words[0] >= rowsEnd) break;
      if (isFirst) json.raw("[");
      else json.raw(",[");
      isFirst = false;
      json.number(words[2]);
      json.raw(",");
      json.number(static_cast<uint32_t>(words[0] - job.contentFrom));
      json.raw(",");
      json.number(static_cast<uint32_t>(words[1] - job.contentFrom));
      json.raw("]");
    }
    json.raw("]");
  }

 private:
  // The first label of the rows that are not written yet.
  size_t firstLabel() const {
    const size_t from = job.rowFrom == job.rowBegin ? job.contentFrom : rowAt(job, job.rowFrom).start;
    size_t low = 0, high = job.labelCount;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (job.labels[3 * middle] < from) low = middle + 1;
      else high = middle;
    }
    return low;
  }
};

}  // namespace trawl
