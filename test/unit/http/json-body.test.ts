/** Bodies of requests as JSON. */
import t from "tap";
import { parseJsonBody } from "../../../src/http/server/json-body.js";

const parse = (text: string | Uint8Array): unknown => parseJsonBody(Buffer.from(text as string));

t.test("bodies that are JSON", async (t) => {
  t.same(parse('{"a": ["]", "\\"[", "\\\\"], "é": 1}'), { a: ["]", '"[', "\\"], é: 1 });
  t.same(parse("[".repeat(500) + "]".repeat(500)), JSON.parse("[".repeat(500) + "]".repeat(500)));
  const text = { text: "[{".repeat(10_000), more: [..."ab"].map(() => ({ b: "\\" })) };
  t.same(parse(JSON.stringify(text)), text, "what is in a text is not nested");
  const wide = Array.from({ length: 1_000 }, () => [{}]);
  t.same(parse(JSON.stringify(wide)), wide);
});

t.test("bodies that are refused", async (t) => {
  for (const text of ["", "{", "[1,]", '{"a": "', Buffer.from([0x22, 0xff, 0x22])])
    t.throws(() => parse(text), { code: "bad-request", message: /^the body is not JSON in UTF-8: ./ });
  const deep = { code: "bad-request", message: /^the body must not be nested more than 500 levels deep$/ };
  t.throws(() => parse("[".repeat(501) + "]".repeat(501)), deep);
  t.throws(() => parse('{"a":'.repeat(501)), deep);
  t.throws(() => parse(`["\\\\", ${"[".repeat(501)}`), deep);
});
