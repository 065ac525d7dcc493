#pragma once

#include "bytes.h"
#include "loops.h"

namespace trawl {

// A line of one content: [start, end) without its newline, and its 0-based number.
struct Line {
  size_t start;
  size_t end;
  uint32_t number;
};

// The number of newlines before `position`, which is within the text and the table. Reads at most half a step.
template <class V>
static inline uint32_t newlinesBefore(Text text, const NewlineTable& table, size_t position) {
  size_t index = position / table.step;
  size_t before = index * table.step, after = before + table.step;
  if (position - before > table.step / 2 && index + 1 < table.length && after <= text.length) {
    return table.counts[index + 1] - static_cast<uint32_t>(countBytes<V>(text, position, after, '\n'));
  }
  return table.counts[index] + static_cast<uint32_t>(countBytes<V>(text, before, position, '\n'));
}

// Walks over the lines of one content [from, to). A walk forward reads each byte a constant number of times, and only
// the ends of what lies between two distant positions.
template <class V>
struct Lines {
  Text text;
  size_t from;
  size_t to;
  NewlineTable newlines;
  // Number of newlines in the text before the content.
  uint32_t linesBefore;

  Line lineAt(size_t start, uint32_t number) const {
    return {start, findFirst<V>(text, start, to, '\n'), number};
  }

  // Advances to the line that contains `position`, which must not be before `line.start`. A newline belongs to the line
  // that it ends.
  void seek(Line& line, size_t position) const {
    if (position <= line.end) return;
    // Most of the text between two matches is not in the processor's cache, and the table gives half a step at most.
    const bool isFar = position - line.end > newlines.step / 2;
    const uint32_t number =
        isFar ? newlinesBefore<V>(text, newlines, position) - linesBefore
              : line.number + static_cast<uint32_t>(countBytes<V>(text, line.end, position, '\n'));
    line = lineAt(afterLast<V>(text, line.end, position, '\n'), number);
  }

  // Fetches what `seek` reads for a distant position that comes next.
  void prefetch(size_t position) const {
    const size_t boundary = (position + newlines.step / 2) / newlines.step * newlines.step;
    const size_t first = boundary < position ? boundary : position, last = boundary < position ? position : boundary;
    for (size_t at = first; at <= last && at < text.length; at += 64) __builtin_prefetch(text.data + at);
  }

  // False on the last line. The empty string after a final newline is not a line.
  bool hasNext(const Line& line) const { return line.end + 1 < to; }

  void next(Line& line) const { line = lineAt(line.end + 1, line.number + 1); }

  // Moves to the previous line. `line` must not be the first of the content.
  void previous(Line& line) const {
    size_t end = line.start - 1;
    line = {afterLast<V>(text, from, end, '\n'), end, line.number - 1};
  }
};

struct Row {
  size_t start;
  size_t end;
};

static inline Row rowAt(const EncodeJob& job, size_t index) {
  return {job.rows[2 * index], job.rows[2 * index + 1]};
}

// True if row `index` lies in the content, after the line hint and the previous row.
static inline bool isSound(const EncodeJob& job, size_t index) {
  Row row = rowAt(job, index);
  size_t floor = index > job.rowFrom ? rowAt(job, index - 1).end : job.lineHint;
  return floor <= row.start && row.start <= row.end && row.end <= job.contentTo;
}

}  // namespace trawl
