// Writes `chunkMatches`: runs of lines that contain rows, with their context.
#pragma once

#include "elements.h"

namespace trawl {

// After this many rows a chunk ends before the next line with a row.
constexpr size_t chunkRowsMax = 1000;

template <class V>
struct ChunkEncoder : ElementsEncoder<V> {
  using ElementsEncoder<V>::job;
  using ElementsEncoder<V>::lines;
  using ElementsEncoder<V>::json;
  using ElementsEncoder<V>::line;
  using ElementsEncoder<V>::row;
  // Lines before this number are in an earlier chunk.
  uint64_t taken = 0;

  using ElementsEncoder<V>::ElementsEncoder;

  ElementsEnd run() {
    if (row < job.rowTo) {
      if (!isSound(job, row)) return this->misused();
      lines.seek(line, rowAt(job, row).start);
      takeEarlierLines();
    }
    while (row < job.rowTo) {
      Line firstLine = line, lastLine = line;
      size_t firstRow = row;
      size_t before = json.at;
      if (this->isLong(line)) {
        if (!writePart()) return this->misused();
      } else {
        if (!gather(lastLine)) return this->misused();
        writeChunk(firstRow, firstLine, lastLine);
      }
      if (json.full) return {Outcome::full, before, firstRow};
    }
    return {Outcome::done, json.at, row};
  }

 private:
  // Sets `taken` to the end of the chunk that an earlier call wrote for the previous row.
  void takeEarlierLines() {
    if (row == job.rowBegin) return;
    size_t end = rowAt(job, row - 1).end;
    size_t between = end < line.start ? countBytes<V>(job.text, end, line.start, '\n') : 0;
    taken = static_cast<uint64_t>(line.number) - between + job.contextLines + 1;
  }

  // Advances past the rows of one chunk. Afterwards `lastLine` is the last line of its last row, `row` is the first row
  // after the chunk, and `line` the line of that row.
  bool gather(Line& lastLine) {
    for (size_t count = 1;; count++) {
      lines.seek(lastLine, rowAt(job, row).end);
      line = lastLine;
      row++;
      if (row == job.rowTo) return true;
      if (!isSound(job, row)) return false;
      lines.seek(line, rowAt(job, row).start);
      if (this->isLong(line)) return true;
      if (line.number == lastLine.number) continue;
      if (count >= chunkRowsMax) return true;
      if (line.number - lastLine.number > 2 * static_cast<uint64_t>(job.contextLines) + 1) return true;
    }
  }

  // Writes the part of a long line around its next row, with all rows that end in it. Returns false on misuse.
  bool writePart() {
    const size_t from = this->partStart(line, rowAt(job, row).start);
    const size_t to = cutAtCodePoint(job.text, from, line.end, job.lineBytesMax);
    Columns<V> columns(job.text, line.start, line.end);
    const uint32_t column = columns.columnAt(from);
    if (json.at > job.outFrom) json.raw(",");
    json.raw("{\"content\":\"");
    json.string(job.text, from, to);
    json.raw("\",\"contentStart\":");
    writeLocation(from, line.number, column);
    json.raw(",\"ranges\":[");
    for (bool any = false; !any || (row < job.rowTo && rowAt(job, row).end <= to); any = true) {
      const Row range = rowAt(job, row);
      const size_t end = range.end < to ? range.end : to;
      if (any) json.raw(",");
      json.raw("{\"start\":");
      writeLocation(range.start, line.number, columns.columnAt(range.start));
      json.raw(",\"end\":");
      writeLocation(end, line.number, columns.columnAt(end));
      json.raw("}");
      row++;
      if (row < job.rowTo && !isSound(job, row)) return false;
    }
    json.raw("]");
    this->writeLabels(this->labelsEnd(line));
    this->writeLineStart(line, from, column);
    json.raw(",\"contentTruncated\":true}");
    taken = static_cast<uint64_t>(line.number) + 1;
    if (row < job.rowTo) lines.seek(line, rowAt(job, row).start);
    return true;
  }

  void writeChunk(size_t firstRow, const Line& firstLine, const Line& lastLine) {
    Line top = withContextBefore(firstLine);
    Line bottom = withContextAfter(lastLine);
    if (json.at > job.outFrom) json.raw(",");
    json.raw("{\"content\":\"");
    bool cut = writeContent(top.start, bottom.end);
    json.raw("\",\"contentStart\":");
    writeLocation(top.start, top.number, 0);
    json.raw(",\"ranges\":[");
    writeRanges(firstRow, firstLine);
    json.raw("]");
    this->writeLabels(bottom.end);
    if (cut) json.raw(",\"contentTruncated\":true");
    json.raw("}");
    taken = static_cast<uint64_t>(bottom.number) + 1;
  }

  Line withContextBefore(Line at) const {
    for (uint32_t i = 0; i < job.contextLines && at.start > job.contentFrom && at.number > taken; i++) {
      lines.previous(at);
    }
    return at;
  }

  // Stops before the line of the next row, which is in another chunk.
  Line withContextAfter(Line at) const {
    bool last = row == job.rowTo;
    for (uint32_t i = 0; i < job.contextLines && lines.hasNext(at) && (last || at.number + 1 < line.number); i++) {
      lines.next(at);
    }
    return at;
  }

  // Writes the lines of [from, to); returns true if a line was truncated.
  bool writeContent(size_t from, size_t to) {
    if (to - from <= job.lineBytesMax) {
      json.string(job.text, from, to);
      return false;
    }
    bool anyCut = false;
    while (!json.full) {
      size_t end = findFirst<V>(job.text, from, to, '\n');
      size_t cut = cutAtCodePoint(job.text, from, end, job.lineBytesMax);
      anyCut = anyCut || cut < end;
      json.string(job.text, from, cut);
      if (end == to) break;
      json.raw("\\n");
      from = end + 1;
    }
    return anyCut;
  }

  void writeRanges(size_t firstRow, Line at) {
    Columns<V> columns(job.text, at.start, at.end);
    for (size_t i = firstRow; i < row && !json.full; i++) {
      Row range = rowAt(job, i);
      if (i > firstRow) json.raw(",");
      json.raw("{\"start\":");
      writeBound(range.start, at, columns);
      json.raw(",\"end\":");
      writeBound(range.end, at, columns);
      json.raw("}");
    }
  }

  void writeBound(size_t position, Line& at, Columns<V>& columns) {
    if (position > at.end) {
      lines.seek(at, position);
      columns = Columns<V>(job.text, at.start, at.end);
    }
    // Its text is truncated, and no row begins on it.
    if (this->isLong(at)) {
      const size_t cut = cutAtCodePoint(job.text, at.start, at.end, job.lineBytesMax);
      if (cut < position) position = cut;
    }
    writeLocation(position, at.number, columns.columnAt(position));
  }

  void writeLocation(size_t position, uint32_t number, uint32_t column) {
    json.raw("{\"offset\":");
    json.number(static_cast<uint32_t>(position - job.contentFrom));
    json.raw(",\"line\":");
    json.number(number);
    json.raw(",\"column\":");
    json.number(column);
    json.raw("}");
  }
};

template <class V>
static ElementsEnd encodeChunkMatches(const EncodeJob& job) {
  return ChunkEncoder<V>(job).run();
}

}  // namespace trawl
