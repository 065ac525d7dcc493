/** Paths as bytes, strings and URLs. */
import t from "tap";
import {
  decodePath,
  encodePath,
  escapeUrlPart,
  escapeUrlPath,
  isForeignPath,
  shownPath,
  unescapeUrlPath,
} from "../../../src/base/path-text.js";
import { unquotePath } from "../../../src/git/history/blame.js";

/** Each sequence of one to four of these bytes: starts and ends of the ranges that UTF-8 distinguishes. */
const edges = [0x25, 0x41, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc1, 0xc3, 0xe0, 0xed, 0xf0, 0xf4, 0xf5, 0xff];

function* sequences(length: number): Generator<number[]> {
  if (length === 0) return yield [];
  for (const rest of sequences(length - 1)) for (const edge of edges) yield [...rest, edge];
}

t.test("every sequence of bytes has one string and one address", (t) => {
  const strings = new Set<string>();
  let count = 0;
  let faults = 0;
  for (const length of [1, 2, 3, 4])
    for (const bytes of sequences(length)) {
      const buffer = Buffer.from(bytes);
      const path = decodePath(buffer);
      strings.add(path);
      count++;
      const isUtf8 = Buffer.from(buffer.toString()).equals(buffer);
      const isSame =
        buffer.equals(encodePath(path)) &&
        isForeignPath(path) === !isUtf8 &&
        shownPath(path) === buffer.toString() &&
        unescapeUrlPath(escapeUrlPath(path)) === path &&
        unescapeUrlPath(escapeUrlPart(path)) === path &&
        (!isUtf8 || escapeUrlPart(path) === encodeURIComponent(buffer.toString()));
      if (!isSame) faults++;
    }
  t.equal(faults, 0);
  t.equal(strings.size, count);
  t.end();
});

t.test("strings that stand for no path", (t) => {
  t.strictSame(Buffer.from(encodePath("a\ud800b\udc00c\udd00")).toString(), "a\ufffdb\ufffdc\ufffd");
  t.equal(escapeUrlPath("\ud800/😀"), "%EF%BF%BD/%F0%9F%98%80");
  t.equal(unescapeUrlPath("%E9/%zz"), undefined);
  t.equal(unescapeUrlPath("%E9%2"), undefined);
  t.equal(unescapeUrlPath("ü%E9"), "ü\udce9");
  t.end();
});

t.test("paths that git prints in quotes", (t) => {
  t.equal(unquotePath("plain name"), "plain name");
  t.equal(unquotePath('"caf\\351 \\303\\251 \\"\\\\ \\t\\n\\a.txt"'), 'caf\udce9 é "\\ \t\n\x07.txt');
  t.end();
});
