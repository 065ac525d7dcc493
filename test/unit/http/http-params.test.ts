import t from "tap";
import { parseStreamParams, type RequestedSearch } from "../../../src/http/stream/stream-params.js";
import { lineBytesUnlimited } from "../../../src/model/search-request.js";
import { fc } from "../../support/property.js";

const plain: RequestedSearch = {
  query: "a",
  version: "",
  patternType: "",
  display: undefined,
  chunkMatches: false,
  contextLines: 1,
  lineBytesMax: lineBytesUnlimited,
  defaultCount: undefined,
  debug: false,
  receipt: "none",
};

t.test("valid parameters", async (t) => {
  const rows: [query: string, changes: Partial<RequestedSearch>][] = [
    ["q=a", {}],
    ["q=a+b%20%26%C3%A9", { query: "a b &é" }],
    ["q=a&q=b", {}],
    ["q=a&v=&t=&display=&cm=&cl=&max-line-len=", {}],
    ["q=a&v=V1", { version: "V1" }],
    ["q=a&v=V9&t=fuzzy", { version: "V9", patternType: "fuzzy" }],
    ["q=a&t=structural", { patternType: "structural" }],
    ["q=a&display=-1", { display: undefined }],
    ["q=a&display=0", { display: 0 }],
    ["q=a&display=%2B50", { display: 50 }],
    ["q=a&display=-9223372036854775808", { display: undefined }],
    ...["1", "t", "T", "TRUE", "true", "True"].map((text): [string, Partial<RequestedSearch>] => [
      `q=a&cm=${text}`,
      { chunkMatches: true },
    ]),
    ...["0", "f", "F", "FALSE", "false", "False"].map((text): [string, Partial<RequestedSearch>] => [
      `q=a&cm=${text}`,
      {},
    ]),
    ["q=a&cl=0", { contextLines: 0 }],
    ["q=a&cl=4294967295", { contextLines: 4294967295 }],
    ["q=a&max-line-len=200", { lineBytesMax: 200 }],
    ["q=a&max-line-len=0", {}],
    ["q=a&max-line-len=-5", {}],
    ["q=a&feat=x&feat=search-debug", { debug: true }],
    ["q=a&feat=-search-debug&debug=1", {}],
    ["q=a&sm=1&dl=x&dk=&dc=1&zoekt-search-opts=z&trace=1&feat=a&feat=-b&constructor=1", {}],
  ];
  for (const [query, changes] of rows) {
    t.same(parseStreamParams(query), { kind: "request", request: { ...plain, ...changes } }, query);
  }
});

t.test("invalid parameters", async (t) => {
  const rows: [query: string, message: string][] = [
    ["", "no query found"],
    ["q=", "no query found"],
    ["v=V3&t=bad", "no query found"],
    ["q=a&display=ten", 'display must be an integer, got "ten"'],
    ["q=a&display=1.5", 'display must be an integer, got "1.5"'],
    ["q=a&display=0x10", 'display must be an integer, got "0x10"'],
    ["q=a&display=9223372036854775808", 'display must be an integer, got "9223372036854775808"'],
    ["q=a&display=%22", 'display must be an integer, got "\\""'],
    ["q=a&cm=yes", 'chunk matches must be parseable as a boolean, got "yes"'],
    ["q=a&cm=constructor", 'chunk matches must be parseable as a boolean, got "constructor"'],
    ["q=a&cm=tRUE", 'chunk matches must be parseable as a boolean, got "tRUE"'],
    ["q=a&cl=-1", 'context lines must be parseable as a boolean, got "-1"'],
    ["q=a&cl=%2B1", 'context lines must be parseable as a boolean, got "+1"'],
    ["q=a&cl=4294967296", 'context lines must be parseable as a boolean, got "4294967296"'],
    ["q=a&max-line-len=x", 'max-line-len must be an integer, got "x"'],
  ];
  for (const [query, message] of rows) t.same(parseStreamParams(query), { kind: "bad", message }, query);
});

t.test("any input results in a request or an error message", async () => {
  const name = fc.constantFrom("q", "v", "t", "display", "cm", "cl", "max-line-len", "other");
  const value = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.integer().map(String),
    fc.constantFrom("V3", "true", "%", "%ff"),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), fc.boolean(), (pairs, encoded) => {
      const query = pairs.map(([n, v]) => `${n}=${encoded ? encodeURIComponent(v) : v}`).join("&");
      const parsed = parseStreamParams(query);
      if (parsed.kind === "bad") return parsed.message.length > 0 && !parsed.message.includes("\n");
      return (
        parsed.request.query !== "" &&
        Number.isSafeInteger(parsed.request.lineBytesMax) &&
        (parsed.request.display ?? 0) >= 0
      );
    }),
  );
});
