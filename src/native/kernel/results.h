// Writes whole match objects: type, path, head, elements, tail. One call writes many results, because a call from
// JavaScript takes longer than writing a typical result.
#pragma once

#include "chunk-matches.h"
#include "json-writer.h"
#include "line-matches.h"
#include "loops.h"

namespace trawl {

template <class V>
struct ResultEncoder {
  const ResultsJob& job;
  JsonWriter<V> json;
  size_t index;
  // Number of rows of the result that an earlier call has written.
  size_t rowsDone;

  explicit ResultEncoder(const ResultsJob& job)
      : job(job), json(job.out, job.cursor[2], job.outLength), index(job.cursor[0]), rowsDone(job.cursor[1]) {}

  Outcome run() {
    while (index < job.resultCount) {
      if (!isSound()) return Outcome::misuse;
      size_t start = json.at;
      Outcome outcome = writeResult();
      if (outcome == Outcome::misuse) return outcome;
      if (outcome == Outcome::full) return stop(start);
      index++;
      rowsDone = 0;
      if (json.at >= job.pauseAt && index < job.resultCount) return pauseAt(json.at, Outcome::full);
    }
    return pauseAt(json.at, Outcome::done);
  }

 private:
  ResultWords words() const { return resultAt(job, index); }

  Outcome pauseAt(size_t at, Outcome outcome) {
    job.cursor[0] = static_cast<uint32_t>(index);
    job.cursor[1] = static_cast<uint32_t>(rowsDone);
    job.cursor[2] = static_cast<uint32_t>(at);
    return outcome;
  }

  // Handles a result that began at `start` and did not fit: it is written again into an empty buffer. If the buffer was
  // empty already, the result is closed after its last whole element.
  Outcome stop(size_t start) {
    if (start > 0 || partEnd == 0) return pauseAt(start, Outcome::full);
    rowsDone = partRow - words().rowFrom;
    json.at = partEnd;
    json.full = false;
    closeElements();
    return pauseAt(json.at, Outcome::full);
  }

  // For a result that does not fit: the end of its whole elements (0 if there are none), and the row after them.
  size_t partEnd = 0;
  size_t partRow = 0;

  Outcome writeResult() {
    ResultWords result = words();
    bool hasRows = result.rowTo > result.rowFrom;
    if (json.at > 0) json.raw(",");
    if (hasRows) json.raw("{\"type\":\"content\",\"path\":\"");
    else json.raw("{\"type\":\"path\",\"path\":\"");
    json.string(job.paths, result.pathFrom, result.pathTo);
    json.raw("\"");
    json.bytes(job.fragments.data + result.headFrom, result.headTo - result.headFrom);
    if (!hasRows) {
      json.bytes(job.fragments.data + result.tailFrom, result.tailTo - result.tailFrom);
      return json.full ? Outcome::full : Outcome::done;
    }
    if (job.chunks) json.raw(",\"hunks\":null,\"chunkMatches\":[");
    else json.raw(",\"hunks\":null,\"lineMatches\":[");
    Outcome outcome = writeElements(result);
    if (outcome == Outcome::done) closeElements();
    return outcome;
  }

  // Leaves room for the bytes that close the result, so that they always fit.
  Outcome writeElements(const ResultWords& result) {
    size_t closing = 1 + (result.tailTo - result.tailFrom);
    partEnd = 0;
    if (json.full || json.capacity - json.at < closing) return Outcome::full;
    EncodeJob rows = elementsOf(result);
    rows.outLength = json.capacity - closing;
    ElementsEnd end = job.chunks ? encodeChunkMatches<V>(rows) : encodeLineMatches<V>(rows);
    if (end.outcome == Outcome::misuse) return end.outcome;
    json.at = end.at;
    partRow = end.row;
    if (end.outcome == Outcome::full && partRow > rows.rowFrom) partEnd = json.at;
    return end.outcome;
  }

  EncodeJob elementsOf(const ResultWords& result) const {
    EncodeJob rows = {};
    rows.text = job.text;
    rows.newlines = job.newlines;
    rows.linesBefore = result.linesBefore;
    rows.contentFrom = result.contentFrom;
    rows.contentTo = result.contentTo;
    rows.rows = job.rows;
    rows.labels = job.labels;
    rows.labelCount = job.labelCount;
    rows.rowBegin = result.rowFrom;
    rows.rowFrom = result.rowFrom + rowsDone;
    rows.rowTo = result.rowTo;
    rows.lineHint = afterLast<V>(job.text, result.contentFrom, job.rows[2 * rows.rowFrom], '\n');
    rows.firstLine = newlinesBefore<V>(job.text, job.newlines, rows.lineHint) - result.linesBefore;
    rows.contextLines = job.contextLines;
    rows.lineBytesMax = job.lineBytesMax;
    rows.cutsAround = job.cutsAround;
    rows.out = job.out;
    rows.outFrom = json.at;
    return rows;
  }

  void closeElements() {
    ResultWords result = words();
    json.raw("]");
    json.bytes(job.fragments.data + result.tailFrom, result.tailTo - result.tailFrom);
  }

  bool isSound() const {
    ResultWords r = words();
    if (r.pathFrom > r.pathTo || r.pathTo > job.paths.length) return false;
    if (r.headFrom > r.headTo || r.headTo > job.fragments.length) return false;
    if (r.tailFrom > r.tailTo || r.tailTo > job.fragments.length) return false;
    if (r.rowFrom > r.rowTo || r.rowTo > job.rowCount) return false;
    if (r.rowFrom == r.rowTo) return rowsDone == 0;
    if (r.contentTo > job.text.length) return false;
    if (r.contentTo / job.newlines.step >= job.newlines.length) return false;
    if (rowsDone >= r.rowTo - r.rowFrom) return false;
    uint32_t first = job.rows[2 * (r.rowFrom + rowsDone)];
    return first >= r.contentFrom && first <= r.contentTo;
  }
};

template <class V>
static Outcome encodeResults(const ResultsJob& job) {
  return ResultEncoder<V>(job).run();
}

}  // namespace trawl
