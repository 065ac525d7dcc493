// Writes `lineMatches`. The unit of writing is a group: rows that hang together because they share a line or span
// lines. A group is written whole or not at all.
#pragma once

#include "json-writer.h"
#include "lines.h"
#include "loops.h"
#include "utf8.h"

namespace trawl {

template <class V>
struct LineMatchEncoder {
  const EncodeJob& job;
  Lines<V> lines;
  JsonWriter<V> json;
  Line line;
  // The next piece to write is what row `row` has from `pieceStart` on.
  size_t row;
  size_t pieceStart = 0;

  explicit LineMatchEncoder(const EncodeJob& job)
      : job(job), lines{job.text, job.contentFrom, job.contentTo}, json(job.out, job.outFrom, job.outLength),
        line(lines.lineAt(job.lineHint, job.firstLine)), row(job.rowFrom) {}

  Outcome run() {
    while (row < job.rowTo) {
      if (!isSound(job, row)) return Outcome::misuse;
      size_t groupRow = row, groupAt = json.at;
      lines.seek(line, rowAt(job, row).start);
      Line groupLine = line;
      Outcome outcome = writeGroup();
      if (outcome == Outcome::misuse) return outcome;
      if (outcome == Outcome::full) {
        finish(groupAt, groupRow, groupLine);
        return outcome;
      }
    }
    finish(json.at, row, line);
    return Outcome::done;
  }

 private:
  void finish(size_t at, size_t nextRow, const Line& hint) {
    job.result[0] = static_cast<uint32_t>(at);
    job.result[1] = static_cast<uint32_t>(nextRow);
    job.result[2] = static_cast<uint32_t>(hint.start);
    job.result[3] = hint.number;
  }

  Outcome writeGroup() {
    pieceStart = rowAt(job, row).start;
    for (;;) {
      bool goesOn = false;
      Outcome outcome = writeLine(goesOn);
      if (outcome != Outcome::done || !goesOn) return outcome;
      lines.next(line);
      pieceStart = line.start;
    }
  }

  // Writes the element of the line, if a piece on it is not empty. `goesOn` is set when a row reaches past the line.
  Outcome writeLine(bool& goesOn) {
    if (!hasPiece()) return writePieces(goesOn);
    if (json.at > job.outFrom) json.raw(",");
    json.raw("{\"line\":\"");
    json.string(job.text, line.start, cutAtCodePoint(job.text, line.start, line.end, job.lineBytesMax));
    json.raw("\",\"lineNumber\":");
    json.number(line.number);
    json.raw(",\"offsetAndLengths\":[");
    Outcome outcome = writePieces(goesOn);
    json.raw("]}");
    return json.full && outcome == Outcome::done ? Outcome::full : outcome;
  }

  bool hasPiece() const {
    size_t start = pieceStart;
    for (size_t i = row; i < job.rowTo; i++) {
      Row at = rowAt(job, i);
      if (i > row) start = at.start;
      if (start > line.end) return false;
      if ((at.end < line.end ? at.end : line.end) > start) return true;
      if (at.end > line.end) return false;
    }
    return false;
  }

  // Passes over the pieces on the line and writes those that are not empty.
  Outcome writePieces(bool& goesOn) {
    Columns<V> columns(job.text, line.start, line.end);
    bool any = false;
    while (!json.full) {
      size_t rowEnd = rowAt(job, row).end;
      size_t pieceEnd = rowEnd < line.end ? rowEnd : line.end;
      if (pieceEnd > pieceStart) {
        writePiece(columns, pieceEnd, any);
        any = true;
      }
      goesOn = rowEnd > line.end;
      if (goesOn) return Outcome::done;
      row++;
      if (row == job.rowTo) return Outcome::done;
      if (!isSound(job, row)) return Outcome::misuse;
      pieceStart = rowAt(job, row).start;
      if (pieceStart > line.end) return Outcome::done;
    }
    return Outcome::full;
  }

  void writePiece(Columns<V>& columns, size_t pieceEnd, bool comma) {
    uint32_t start = columns.columnAt(pieceStart);
    uint32_t end = columns.columnAt(pieceEnd);
    if (comma) json.raw(",[");
    else json.raw("[");
    json.number(start);
    json.raw(",");
    json.number(end - start);
    json.raw("]");
  }
};

template <class V>
static Outcome encodeLineMatches(const EncodeJob& job) {
  return LineMatchEncoder<V>(job).run();
}

}  // namespace trawl
