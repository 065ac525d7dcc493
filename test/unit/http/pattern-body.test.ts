import t from "tap";
import { parsePatternBody } from "../../../src/http/stream/stream-params.js";

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

t.test("patterns are taken as they are", async (t) => {
  const patterns = ["a", " b ", "é\n", "😀", "\u0000"];
  t.same(parsePatternBody(json({ patterns })), patterns);
  t.equal(parsePatternBody(json({ patterns: Array.from({ length: 50_000 }, (_, i) => `p${i}`) })).length, 50_000);
});

for (const [name, body, message] of [
  ["no JSON", Buffer.from("{"), /not JSON in UTF-8/],
  ["invalid UTF-8", Buffer.from('{"patterns":["\xff"]}', "latin1"), /not JSON in UTF-8/],
  ["a list", json([]), /list of "patterns"/],
  ["null", json(null), /list of "patterns"/],
  ["another type", json({ patterns: "a" }), /list of "patterns"/],
  ["another member", json({ patterns: ["a"], query: "b" }), /unknown member "query"/],
  ["no patterns", json({ patterns: [] }), /name at least one/],
  [
    "100,000 patterns",
    json({ patterns: Array.from({ length: 100_000 }, () => "ab") }),
    /100000 patterns; at most 50000/,
  ],
  ["a number", json({ patterns: ["a", 1] }), /patterns\[1\] is not a string/],
  ["an empty pattern", json({ patterns: ["a", "b", ""] }), /patterns\[2\] is empty/],
  [
    "a pattern of a megabyte",
    json({ patterns: ["a", "x".repeat(1 << 20)] }),
    /patterns\[1\] "x{60}…" has 1048576 bytes/,
  ],
  ["half of a pair", Buffer.from('{"patterns":["a\\ud800"]}'), /patterns\[0\] has half of a surrogate pair/],
] as const) {
  t.test(`${name} is refused`, async (t) => {
    t.throws(() => parsePatternBody(body), { code: "bad-request", message });
  });
}
