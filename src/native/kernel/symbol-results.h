// Writes the match objects of files with symbols, as results.h does those of texts.
#pragma once

#include "json-writer.h"
#include "lines.h"
#include "symbol-records.h"
#include "symbols.h"
#include "utf8.h"

namespace trawl {

// Further symbols of a file are in another match object.
constexpr size_t symbolsOfObjectMax = 1000;

// Columns are counted in this many bytes of a line.
constexpr size_t columnBytesMax = 10000;

template <class V>
struct SymbolEncoder {
  const SymbolsJob& job;
  JsonWriter<V> json;
  size_t index;
  // Number of rows of the result that are written.
  size_t rowsDone;
  SymbolPlace place;

  explicit SymbolEncoder(const SymbolsJob& job)
      : job(job), json(job.out, job.cursor[2], job.outLength), index(job.cursor[0]), rowsDone(job.cursor[1]) {
    memcpy(&place, job.cursor + 3, sizeof place);
  }

  Outcome run() {
    while (index < job.resultCount) {
      const SymbolResultWords result = symbolResultAt(job, index);
      if (!isSound(result)) return Outcome::misuse;
      const Outcome outcome = result.rowFrom == result.rowTo ? writePath(result) : writeSymbols(result);
      if (outcome == Outcome::misuse) return outcome;
      if (outcome == Outcome::full) return pause(Outcome::full);
      index++;
      rowsDone = 0;
      place = {};
      if (json.at >= job.pauseAt && index < job.resultCount) return pause(Outcome::full);
    }
    return pause(Outcome::done);
  }

 private:
  Outcome pause(Outcome outcome) {
    job.cursor[0] = static_cast<uint32_t>(index);
    job.cursor[1] = static_cast<uint32_t>(rowsDone);
    job.cursor[2] = static_cast<uint32_t>(json.at);
    memcpy(job.cursor + 3, &place, sizeof place);
    return outcome;
  }

  Outcome writePath(const SymbolResultWords& result) {
    const size_t start = json.at;
    beginObject(result, "{\"type\":\"path\",\"path\":\"");
    json.bytes(job.fragments.data + result.tailFrom, result.tailTo - result.tailFrom);
    if (!json.full) return Outcome::done;
    json.at = start;
    return Outcome::full;
  }

  template <size_t size>
  void beginObject(const SymbolResultWords& result, const char (&type)[size]) {
    if (json.at > 0) json.raw(",");
    json.raw(type);
    json.string(job.paths, result.pathFrom, result.pathTo);
    json.raw("\"");
    json.bytes(job.fragments.data + result.headFrom, result.headTo - result.headFrom);
  }

  // Writes the rest of the rows, as one object or several.
  Outcome writeSymbols(const SymbolResultWords& result) {
    const Text record = {job.records.data + result.recordFrom, result.recordTo - result.recordFrom};
    Containers containers(record);
    while (rowsDone < result.rowTo - result.rowFrom) {
      if (rowsDone > 0 && json.at >= job.pauseAt) return Outcome::full;
      SymbolWalk walk(record, result.textFrom, result.textTo);
      if (!walk.start(place)) return Outcome::misuse;
      const Outcome outcome = writeObject(result, walk, containers);
      if (outcome != Outcome::done) return outcome;
    }
    return Outcome::done;
  }

  // An object that does not fit after others waits for an empty buffer. There, it gets as many symbols as fit.
  Outcome writeObject(const SymbolResultWords& result, SymbolWalk& walk, Containers& containers) {
    const size_t start = json.at, closing = 1 + result.tailTo - result.tailFrom;
    if (json.capacity - json.at < closing) return Outcome::full;
    json.capacity -= closing;
    beginObject(result, "{\"type\":\"symbol\",\"path\":\"");
    json.raw(",\"symbols\":[");
    linkFrom_ = 0;
    SymbolPlace after = place;
    size_t end = json.at, count = 0;
    const size_t rest = result.rowTo - result.rowFrom - rowsDone;
    while (!json.full && count < symbolsOfObjectMax && count < rest) {
      const size_t row = job.rows[2 * (result.rowFrom + rowsDone + count)];
      if (!walk.seek(row - result.namesFrom)) return Outcome::misuse;
      if (count > 0) json.raw(",");
      if (!writeSymbol(result, walk, containers)) return Outcome::misuse;
      if (json.full) break;
      after = walk.place();
      end = json.at;
      count++;
    }
    json.capacity += closing;
    const bool isFull = json.full;
    json.full = false;
    if (count == 0 || (isFull && start > 0)) {
      json.at = start;
      return Outcome::full;
    }
    json.at = end;
    json.raw("]");
    json.bytes(job.fragments.data + result.tailFrom, result.tailTo - result.tailFrom);
    place = after;
    rowsDone += count;
    return isFull ? Outcome::full : Outcome::done;
  }

  // False if the record is damaged.
  bool writeSymbol(const SymbolResultWords& result, const SymbolWalk& walk, Containers& containers) {
    const Text record = {job.records.data + result.recordFrom, result.recordTo - result.recordFrom};
    const Text names = walk.isStored ? record : job.text;
    const size_t from = walk.isStored ? walk.storedFrom : walk.from, to = from + walk.length;
    if (walk.kind >= job.kindCount) return false;
    json.raw("{\"url\":\"");
    writeLink(result);
    const uint32_t line = walk.isStored ? walk.line : lineOf(result, from);
    writePlace(line, walk.isStored ? 0 : columnOf(result, from), names, from, to);
    json.raw("\",\"name\":\"");
    json.string(names, from, to);
    json.raw("\",\"containerName\":\"");
    if (walk.reference() > 1) {
      size_t containerFrom, containerTo;
      if (!containers.find(walk.reference() - 2, &containerFrom, &containerTo)) return false;
      json.string(record, containerFrom, containerTo);
    }
    json.raw("\",\"kind\":\"");
    const uint32_t kindFrom = job.kindStarts[walk.kind];
    json.bytes(job.fragments.data + kindFrom, job.kindStarts[walk.kind + 1] - kindFrom);
    json.raw("\",\"line\":");
    json.number(line);
    json.raw("}");
    return true;
  }

  // The address of the file; after the first one of an object, it is copied from there.
  void writeLink(const SymbolResultWords& result) {
    if (linkFrom_ > 0) return json.bytes(job.out + linkFrom_, linkTo_ - linkFrom_);
    const size_t from = json.at;
    json.bytes(job.fragments.data + result.linkFrom, result.linkTo - result.linkFrom);
    for (size_t at = result.pathFrom; at < result.pathTo && !json.full; at++) writeEncoded(job.paths.data[at]);
    json.raw("?");
    if (json.full) return;
    linkFrom_ = from;
    linkTo_ = json.at;
  }

  // As `encodeURIComponent` does, except for slashes.
  void writeEncoded(uint8_t byte) {
    const bool isPlain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                         (byte < 0x80 && byte != 0 && strchr("-_.!~*'()/", byte) != nullptr);
    const char* hex = "0123456789ABCDEF";
    const uint8_t escaped[3] = {'%', static_cast<uint8_t>(hex[byte >> 4]), static_cast<uint8_t>(hex[byte & 15])};
    if (isPlain) json.bytes(&byte, 1);
    else json.bytes(escaped, 3);
  }

  // `L2:17-2:25`, or `L2` if the column is 0.
  void writePlace(uint32_t line, uint32_t column, Text names, size_t from, size_t to) {
    json.raw("L");
    json.number(line);
    if (column == 0) return;
    json.raw(":");
    json.number(column);
    json.raw("-");
    json.number(line);
    json.raw(":");
    json.number(column + Columns<V>(names, from, to).columnAt(to));
  }

  // From 1.
  uint32_t lineOf(const SymbolResultWords& result, size_t offset) const {
    return newlinesBefore<V>(job.text, job.newlines, offset) - result.linesBefore + 1;
  }

  // From 1; 0 if the line is too long.
  uint32_t columnOf(const SymbolResultWords& result, size_t offset) const {
    const size_t floor = offset - result.textFrom > columnBytesMax ? offset - columnBytesMax - 1 : result.textFrom;
    const size_t start = afterLast<V>(job.text, floor, offset, '\n');
    if (offset - start > columnBytesMax) return 0;
    uint32_t column = 1;
    for (size_t at = start; at < offset; at++) column += !isContinuation(job.text.data[at]);
    return column;
  }

  bool isSound(const SymbolResultWords& r) const {
    if (r.pathFrom > r.pathTo || r.pathTo > job.paths.length) return false;
    if (r.headFrom > r.headTo || r.headTo > job.fragments.length) return false;
    if (r.tailFrom > r.tailTo || r.tailTo > job.fragments.length) return false;
    if (r.linkFrom > r.linkTo || r.linkTo > job.fragments.length) return false;
    if (r.recordFrom > r.recordTo || r.recordTo > job.records.length) return false;
    if (r.textTo > job.text.length) return false;
    if (r.textTo / job.newlines.step >= job.newlines.length) return false;
    if (r.rowFrom > r.rowTo || r.rowTo > job.rowCount) return false;
    if (place.at > 0 && place.textEnd < r.textFrom) return false;
    return r.rowFrom == r.rowTo ? rowsDone == 0 : rowsDone < r.rowTo - r.rowFrom;
  }

  // The address of the file in `out`, in the object that is being written; 0 before it is there.
  size_t linkFrom_ = 0;
  size_t linkTo_ = 0;
};

template <class V>
static Outcome encodeSymbols(const SymbolsJob& job) {
  return SymbolEncoder<V>(job).run();
}

}  // namespace trawl
