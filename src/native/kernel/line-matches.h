// Writes `lineMatches` in groups: a group is the rows connected by shared lines, and is written as a whole or not at
// all.
#pragma once

#include "elements.h"

namespace trawl {

template <class V>
struct LineMatchEncoder : ElementsEncoder<V> {
  using ElementsEncoder<V>::job;
  using ElementsEncoder<V>::lines;
  using ElementsEncoder<V>::json;
  using ElementsEncoder<V>::line;
  using ElementsEncoder<V>::row;
  // The next piece to write is the part of row `row` from `pieceStart` on.
  size_t pieceStart = 0;

  using ElementsEncoder<V>::ElementsEncoder;

  ElementsEnd run() {
    while (row < job.rowTo) {
      if (!isSound(job, row)) return this->misused();
      size_t groupRow = row, groupAt = json.at;
      lines.seek(line, rowAt(job, row).start);
      if (row + 1 < job.rowTo) lines.prefetch(rowAt(job, row + 1).start);
      Outcome outcome = writeGroup();
      if (outcome == Outcome::misuse) return this->misused();
      if (outcome == Outcome::full) return {outcome, groupAt, groupRow};
    }
    return {Outcome::done, json.at, row};
  }

 private:
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

  // Writes the element of the line if it has a nonempty piece, or the start of a row of newlines. Sets `goesOn` if a row extends past the line.
  Outcome writeLine(bool& goesOn) {
    if (!hasPiece()) return writePieces(goesOn);
    if (this->isLong(line)) return writePart(goesOn);
    if (json.at > job.outFrom) json.raw(",");
    json.raw("{\"line\":\"");
    json.string(job.text, line.start, cutAtCodePoint(job.text, line.start, line.end, job.lineBytesMax));
    json.raw("\",\"lineNumber\":");
    json.number(line.number);
    json.raw(",\"offsetAndLengths\":[");
    const size_t lineEnd = line.end;
    Outcome outcome = writePieces(goesOn);
    json.raw("]");
    this->writeLabels(lineEnd);
    json.raw("}");
    return json.full ? Outcome::full : outcome;
  }

  // Writes the part of a long line around its next piece, with the pieces of all rows that end in it.
  Outcome writePart(bool& goesOn) {
    const size_t from = this->partStart(line, pieceStart);
    const size_t to = cutAtCodePoint(job.text, from, line.end, job.lineBytesMax);
    Columns<V> columns(job.text, line.start, line.end);
    const uint32_t column = columns.columnAt(from);
    if (json.at > job.outFrom) json.raw(",");
    json.raw("{\"line\":\"");
    json.string(job.text, from, to);
    json.raw("\",\"lineNumber\":");
    json.number(line.number);
    json.raw(",\"offsetAndLengths\":[");
    Outcome outcome = Outcome::done;
    for (bool any = false; !json.full; any = true) {
      const size_t rowEnd = rowAt(job, row).end;
      writePiece(columns, rowEnd < to ? rowEnd : to, any, column);
      goesOn = rowEnd > line.end;
      if (goesOn) break;
      row++;
      if (row == job.rowTo) break;
      if (!isSound(job, row)) {
        outcome = Outcome::misuse;
        break;
      }
      pieceStart = rowAt(job, row).start;
      if (rowAt(job, row).end > to) break;
    }
    json.raw("]");
    this->writeLabels(this->labelsEnd(line));
    this->writeLineStart(line, from, column);
    json.raw(",\"lineTruncated\":true}");
    return json.full ? Outcome::full : outcome;
  }

  bool hasPiece() const {
    size_t start = pieceStart;
    for (size_t i = row; i < job.rowTo; i++) {
      Row at = rowAt(job, i);
      if (i > row) start = at.start;
      if (start > line.end) return false;
      if ((at.end < line.end ? at.end : line.end) > start || isBare(at, start)) return true;
    }
    return false;
  }

  // Whether the row begins at `start` and holds only newlines: it has no nonempty piece, so an empty one is written. The row
  // may be unsound.
  bool isBare(const Row& at, size_t start) const {
    if (at.start != start || at.end == start || at.end > job.contentTo) return false;
    for (size_t i = at.start; i < at.end; i++) {
      if (job.text.data[i] != '\n') return false;
    }
    return true;
  }

  // Writes the nonempty pieces on the line, and advances past all its pieces.
  Outcome writePieces(bool& goesOn) {
    Columns<V> columns(job.text, line.start, line.end);
    bool any = false;
    while (!json.full) {
      size_t rowEnd = rowAt(job, row).end;
      size_t pieceEnd = rowEnd < line.end ? rowEnd : line.end;
      if (pieceEnd > pieceStart || isBare(rowAt(job, row), pieceStart)) {
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

  // `before` is the number of code points of the line that are not written.
  void writePiece(Columns<V>& columns, size_t pieceEnd, bool comma, uint32_t before = 0) {
    uint32_t start = columns.columnAt(pieceStart) - before;
    uint32_t end = columns.columnAt(pieceEnd) - before;
    json.pair(start, end - start, comma);
  }
};

template <class V>
static ElementsEnd encodeLineMatches(const EncodeJob& job) {
  return LineMatchEncoder<V>(job).run();
}

}  // namespace trawl
