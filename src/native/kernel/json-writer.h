#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bytes.h"
#include "utf8.h"

namespace trawl {

// The JSON escape sequence of an ASCII character; length 0 if it needs none.
struct Escape {
  uint8_t length;
  char text[7];
};

constexpr Escape escapeOf(unsigned byte) {
  const char* hex = "0123456789abcdef";
  switch (byte) {
    case '"': return {2, {'\\', '"'}};
    case '\\': return {2, {'\\', '\\'}};
    case '\b': return {2, {'\\', 'b'}};
    case '\f': return {2, {'\\', 'f'}};
    case '\n': return {2, {'\\', 'n'}};
    case '\r': return {2, {'\\', 'r'}};
    case '\t': return {2, {'\\', 't'}};
    default:
      if (byte >= 0x20) return {0, {}};
      return {6, {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]}};
  }
}

struct EscapeTable {
  Escape of[128];
  constexpr EscapeTable() : of() {
    for (unsigned byte = 0; byte < 128; byte++) of[byte] = escapeOf(byte);
  }
};

static constexpr EscapeTable escapes;

// The decimal digits of the numbers below 1,000, from the lowest byte on, and how many there are in the highest byte: most
// columns and lengths are such numbers.
struct DigitsTable {
  uint32_t of[1000];
  constexpr DigitsTable() : of() {
    for (uint32_t number = 0; number < 1000; number++) {
      const uint32_t hundreds = '0' + number / 100, tens = '0' + number / 10 % 10, ones = '0' + number % 10;
      if (number >= 100) of[number] = hundreds | tens << 8 | ones << 16 | 3u << 24;
      else if (number >= 10) of[number] = tens | ones << 8 | 2u << 24;
      else of[number] = ones | 1u << 24;
    }
  }
};

static constexpr DigitsTable digits;

// Appends to a buffer of fixed size. If something does not fit, `full` is set and stays set; the bytes after the last
// position at which the caller found the output complete are then unspecified.
template <class V>
struct JsonWriter {
  uint8_t* out;
  size_t at;
  size_t capacity;
  bool full = false;

  JsonWriter(uint8_t* out, size_t at, size_t capacity) : out(out), at(at), capacity(capacity) {}

  template <size_t size>
  void raw(const char (&literal)[size]) {
    copy(reinterpret_cast<const uint8_t*>(literal), size - 1);
  }

  void number(uint32_t value) {
    if (value < 1000 && capacity - at >= 3) {
      smallNumber(value);
      return;
    }
    uint8_t reversed[10];
    size_t start = sizeof reversed;
    do {
      reversed[--start] = static_cast<uint8_t>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    copy(reversed + start, sizeof reversed - start);
  }

  // Appends `[first,second]`, after a comma if `comma` is set.
  void pair(uint32_t first, uint32_t second, bool comma) {
    if (first < 1000 && second < 1000 && capacity - at >= 10) {
      out[at] = ',';
      at += comma;
      out[at++] = '[';
      smallNumber(first);
      out[at++] = ',';
      smallNumber(second);
      out[at++] = ']';
      return;
    }
    if (comma) raw(",[");
    else raw("[");
    number(first);
    raw(",");
    number(second);
    raw("]");
  }

  // Appends bytes that are JSON already.
  void bytes(const uint8_t* data, size_t length) { copy(data, length); }

  // Appends [from, to) as the inside of a JSON string.
  void string(Text text, size_t from, size_t to) {
    while (from < to && !full) {
      from += plainRun(text, from, to);
      while (from < to && !full) {
        size_t taken = special(text, from, to);
        if (taken == 0) break;
        from += taken;
      }
    }
  }

 private:
  void copy(const uint8_t* bytes, size_t length) {
    if (capacity - at < length) {
      full = true;
      return;
    }
    memcpy(out + at, bytes, length);
    at += length;
  }

  // Appends a number below 1,000, where three bytes fit.
  void smallNumber(uint32_t value) {
    const uint32_t word = digits.of[value];
    for (unsigned i = 0; i < 3; i++) out[at + i] = static_cast<uint8_t>(word >> 8 * i);
    at += word >> 24;
  }

  // Copies ASCII characters that need no escape, up to the first other byte; returns how many.
  size_t plainRun(Text text, size_t from, size_t to) {
    const typename V::Reg quote = V::splat('"'), backslash = V::splat('\\');
    size_t start = from;
    while (text.length - from >= V::width && capacity - at >= V::width) {
      typename V::Reg value = V::load(text.data + from);
      V::store(out + at, value);
      auto quoted = V::either(V::equal(value, quote), V::equal(value, backslash));
      auto mask = V::mask(V::either(quoted, V::controlOrHigh(value)));
      size_t run = mask != 0 ? laneOf<V>(mask) : V::width;
      if (run > to - from) run = to - from;
      from += run;
      at += run;
      if (run < V::width) return from - start;
    }
    while (from < to && text.data[from] < 0x80 && escapes.of[text.data[from]].length == 0 && at < capacity) {
      out[at++] = text.data[from++];
    }
    if (from < to && at == capacity) full = true;
    return from - start;
  }

  // Writes the escaped character, UTF-8 sequence or invalid byte at `from`; returns its length in the text, 0 if the
  // byte needs no escape.
  size_t special(Text text, size_t from, size_t to) {
    uint8_t byte = text.data[from];
    if (byte < 0x80) {
      const Escape& escape = escapes.of[byte];
      if (escape.length == 0) return 0;
      copy(reinterpret_cast<const uint8_t*>(escape.text), escape.length);
      return 1;
    }
    size_t length = sequenceLength(text, from, to);
    if (length == 0) {
      raw("\xef\xbf\xbd");
      return 1;
    }
    // JSON allows U+2028 and U+2029 in strings, but some readers take them for line ends.
    const uint8_t* bytes = text.data + from;
    if (length == 3 && bytes[0] == 0xe2 && bytes[1] == 0x80 && (bytes[2] & 0xfe) == 0xa8) {
      if (bytes[2] == 0xa8) raw("\\u2028");
      else raw("\\u2029");
      return length;
    }
    copy(bytes, length);
    return length;
  }
};

}  // namespace trawl
