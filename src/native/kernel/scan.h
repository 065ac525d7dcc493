// Finds a needle: compares its two rarest bytes at a whole vector of start positions at once, verifies the remaining
// candidates, and writes each match immediately. After a match (or its line) all candidates before the next possible
// start are dropped from the vector, so a dense run costs one step per row, not one per position.
#pragma once

#include "bytes.h"
#include "loops.h"

namespace trawl {

// Writes the matches themselves as rows.
template <class V>
struct MatchRows {
  static constexpr size_t rangeStride = 3;

  uint32_t* out;
  size_t capacity;
  size_t written;
  // The next match must not start before this position.
  size_t next;
  size_t length;

  explicit MatchRows(const ScanJob& job)
      : out(job.rows), capacity(job.rowCapacity), written(job.cursor[2]), next(job.cursor[1]),
        length(job.needle.length) {}

  bool enter(const uint32_t*) { return true; }
  void forgetRead() {}

  // Bytes read to find the bounds of rows.
  static constexpr size_t readBytes = 0;

  // Writes a row; returns false if there is no room for another.
  bool add(size_t start) {
    next = start + length;
    out[2 * written] = static_cast<uint32_t>(start);
    out[2 * written + 1] = static_cast<uint32_t>(next);
    return ++written < capacity;
  }
};

// Writes the lines that contain a match as rows.
template <class V>
struct LineRows {
  static constexpr size_t rangeStride = 4;

  Text text;
  uint8_t delimiter;
  uint32_t* out;
  size_t capacity;
  size_t written;
  size_t next;
  size_t floor = 0;
  size_t end = 0;
  // Bytes read to find the bounds of rows.
  size_t readBytes = 0;

  explicit LineRows(const ScanJob& job)
      : text(job.text), delimiter(job.delimiter), out(job.rows), capacity(job.rowCapacity),
        written(job.cursor[2]), next(job.cursor[1]) {}

  bool enter(const uint32_t* range) {
    end = range[2];
    floor = range[3];
    return floor <= range[0];
  }

  void forgetRead() { readBytes = 0; }

  bool add(size_t start) {
    size_t lineStart = afterLast<V>(text, floor, start, delimiter);
    size_t lineEnd = findFirst<V>(text, start, end, delimiter);
    readBytes += lineEnd - lineStart;
    out[2 * written] = static_cast<uint32_t>(lineStart);
    out[2 * written + 1] = static_cast<uint32_t>(lineEnd);
    // Not past `end`: the next content may start there.
    next = lineEnd < end ? lineEnd + 1 : end;
    return ++written < capacity;
  }
};

template <class V, bool fold, class Rows>
struct Scanner {
  using Reg = typename V::Reg;
  using Mask = typename V::Mask;

  // Bytes that are looked at together.
  static constexpr size_t quad = 4 * V::width;
  // So much of the next range is prefetched.
  static constexpr size_t aheadMax = 4096;

  Text text;
  Needle needle;
  Rows rows;
  Reg firstByte, firstCase, secondByte, secondCase;
  // The start of the needle, zero-padded to a vector, and the lanes that it fills.
  Reg head;
  Mask headLanes;
  // The remaining work of this call, and the work on this content so far.
  size_t left;
  size_t contentWork;
  // Bytes of the needle past its first vector that were compared.
  mutable size_t comparedBytes = 0;
  // How far the next range is from this one, and where this one has as many bytes as are prefetched.
  size_t ahead = 0, aheadUntil = 0;

  explicit Scanner(const ScanJob& job) : text(job.text), needle(job.needle), rows(job), left(job.workMax), contentWork(job.cursor[3]) {
    firstByte = V::splat(needle.bytes[needle.first]);
    firstCase = V::splat(caseBit(needle.bytes[needle.first]));
    secondByte = V::splat(needle.bytes[needle.second]);
    secondCase = V::splat(caseBit(needle.bytes[needle.second]));
    uint8_t padded[V::width] = {};
    for (size_t i = 0; i < needle.length && i < V::width; i++) padded[i] = needle.bytes[i];
    head = V::load(padded);
    headLanes = keepBelow<V>(V::mask(V::equal(head, head)), needle.length);
  }

  // Setting this bit makes only a letter and its capital equal, so the comparison stays exact.
  static uint8_t caseBit(uint8_t byte) { return byte >= 'a' && byte <= 'z' ? 0x20 : 0; }

  Reg folded(Reg value) const {
    if constexpr (fold) return V::lower(value);
    else return value;
  }

  // The starts in [at, at + width) at which both of the rarest bytes match.
  Reg candidates(size_t at) const {
    Reg first = V::load(text.data + at + needle.first);
    Reg second = V::load(text.data + at + needle.second);
    if constexpr (fold) {
      first = V::either(first, firstCase);
      second = V::either(second, secondCase);
    }
    return V::both(V::equal(first, firstByte), V::equal(second, secondByte));
  }

  bool verify(size_t start) const {
    if (needle.length <= 2) return true;
    if (text.length - start < V::width) return verifyBytes(start);
    Mask equal = V::mask(V::equal(folded(V::load(text.data + start)), head));
    if ((equal & headLanes) != headLanes) return false;
    return needle.length <= V::width || verifyRest(start);
  }

  // Compares the needle past its first vector; the last vector overlaps the previous one.
  bool verifyRest(size_t start) const {
    for (size_t done = V::width; done < needle.length; done += V::width) {
      comparedBytes += V::width;
      size_t at = done + V::width <= needle.length ? done : needle.length - V::width;
      Reg value = folded(V::load(text.data + start + at));
      if (V::mask(V::equal(value, V::load(needle.bytes + at))) != headLanes) return false;
    }
    return true;
  }

  bool verifyBytes(size_t start) const {
    for (size_t i = 0; i < needle.length; i++) {
      uint8_t byte = text.data[start + i];
      if (fold && byte >= 'A' && byte <= 'Z') byte |= 0x20;
      if (byte != needle.bytes[i]) return false;
    }
    return true;
  }

  bool isUsedUp() const { return comparedBytes + rows.readBytes >= left; }

  // Verifies the candidates of one vector and writes the matches; false if the rows are full or the work is used up.
  bool take(size_t at, Mask candidate) {
    if (candidate == 0) return true;
    if (rows.next > at) candidate = keepFrom<V>(candidate, rows.next - at);
    while (candidate != 0) {
      size_t start = at + laneOf<V>(candidate);
      if (!verify(start)) {
        candidate &= candidate - 1;
        if (!isUsedUp()) continue;
        rows.next = start + 1;
        return false;
      }
      if (!rows.add(start) || isUsedUp()) return false;
      candidate = keepFrom<V>(candidate, rows.next - at);
    }
    return true;
  }

  // Scans the starts in [from, limit). A match that starts there must lie within the text.
  bool scanStarts(size_t from, size_t limit) {
    for (size_t at = from; ; ) {
      if (at < rows.next) at = rows.next;
      if (at >= limit) return true;
      size_t readable = text.length - at - needle.second;
      if (limit - at >= quad && readable >= quad) {
        if (at < aheadUntil) fetchAhead(at);
        if (!takeQuad(at)) return false;
        at += quad;
      } else if (readable >= V::width) {
        if (!take(at, keepBelow<V>(V::mask(candidates(at)), limit - at))) return false;
        at += V::width;
      } else {
        if (verifyBytes(at) && !rows.add(at)) return false;
        at++;
      }
    }
  }

  bool takeQuad(size_t at) {
    constexpr size_t w = V::width;
    Reg a = candidates(at), b = candidates(at + w), c = candidates(at + 2 * w), d = candidates(at + 3 * w);
    if (V::isZero(V::either(V::either(a, b), V::either(c, d)))) return true;
    return take(at, V::mask(a)) && take(at + w, V::mask(b)) && take(at + 2 * w, V::mask(c)) &&
           take(at + 3 * w, V::mask(d));
  }

  // While this range is scanned, the next one is prefetched line by line, unless they are adjacent: the hardware prefetcher
  // starts again with each page. Units of 4 KiB at random places of 1 GiB are scanned 10 to 15 % faster than if only the first
  // 512 bytes are prefetched, which is 16 to 22 % faster than nothing (AVX2).
  void lookAhead(const uint32_t* range, bool hasNext) {
    const uint32_t* next = range + Rows::rangeStride;
    aheadUntil = 0;
    if (!hasNext || next[0] <= range[1]) return;
    const size_t length = next[1] - next[0];
    ahead = next[0] - range[0];
    aheadUntil = range[0] + (length < aheadMax ? length : aheadMax);
  }

  void fetchAhead(size_t at) const {
    constexpr size_t cacheLine = 64;
    for (size_t line = 0; line < quad; line += cacheLine) __builtin_prefetch(text.data + at + ahead + line);
  }

  // Scans the starts in [from, limit) within the remaining work; false if there is more to do.
  bool scanRange(size_t from, size_t limit) {
    if (from < rows.next) from = rows.next;
    if (from >= limit) return true;
    comparedBytes = 0;
    rows.forgetRead();
    size_t stop = limit - from > left ? from + left : limit;
    bool passed = scanStarts(from, stop);
    // Counted so that the total does not depend on where calls end.
    size_t reached = rows.next < limit ? rows.next : limit;
    if (passed && reached < stop) reached = stop;
    size_t spent = reached - from + comparedBytes + rows.readBytes;
    left -= spent < left ? spent : left;
    contentWork += spent;
    if (!passed) return false;
    if (rows.next < stop) rows.next = stop;
    return stop == limit;
  }

  Outcome run(const ScanJob& job) {
    if (rows.written >= rows.capacity) return Outcome::full;
    Outcome outcome = Outcome::done;
    size_t index = job.cursor[0];
    size_t contentEnd = index < job.rangeCount ? job.ranges[Rows::rangeStride * index + 2] : 0;
    for (; index < job.rangeCount; index++) {
      const uint32_t* range = job.ranges + Rows::rangeStride * index;
      size_t from = range[0], to = range[1], end = range[2];
      if (from > to || to > text.length || end > text.length || !rows.enter(range)) return Outcome::misuse;
      lookAhead(range, index + 1 < job.rangeCount);
      if (end < needle.length) continue;
      size_t limit = to < end - needle.length + 1 ? to : end - needle.length + 1;
      if (end != contentEnd) contentWork = 0;
      contentEnd = end;
      if (left > 0 && scanRange(from, limit)) continue;
      outcome = Outcome::full;
      break;
    }
    job.cursor[0] = static_cast<uint32_t>(index);
    job.cursor[1] = static_cast<uint32_t>(rows.next);
    job.cursor[2] = static_cast<uint32_t>(rows.written);
    job.cursor[3] = contentWork < UINT32_MAX ? static_cast<uint32_t>(contentWork) : UINT32_MAX;
    return outcome;
  }
};

template <class V, template <class> class Rows>
static Outcome scanInto(const ScanJob& job) {
  if (job.needle.fold) return Scanner<V, true, Rows<V>>(job).run(job);
  return Scanner<V, false, Rows<V>>(job).run(job);
}

}  // namespace trawl
