/** What the console does with a document and its variables before they are sent. */
import t from "tap";
import { findOperations, formatDocument, readVariables } from "../../../src/web/console/console-document.js";

t.test("operations of a document", async (t) => {
  t.same(findOperations("query A { a } mutation B { b } fragment C on D { e }"), ["A", "B"]);
  t.same(findOperations("{ a }"), [], "one without a name");
  t.same(findOperations("{ a "), [], "one with an error");
  t.same(findOperations(""), []);
  t.same(findOperations("{ a }".padEnd(200_000, " a")), [], "what is not a document");
});

t.test("a document is formatted, unless that would lose something", async (t) => {
  t.same(formatDocument("query A($a:Int){b(c:$a)}"), { kind: "text", text: "query A($a: Int) {\n  b(c: $a)\n}" });
  t.match(formatDocument("{ a # why\n }"), { kind: "refused", reason: /comments/ });
  t.match(formatDocument('{ a(b: "# no comment") }'), { kind: "text" });
  t.match(formatDocument("{ a"), { kind: "refused", reason: /has an error/ });
  t.match(formatDocument(`{ ${"a ".repeat(20_000)} }`), { kind: "refused" }, "too many tokens");
});

t.test("variables", async (t) => {
  t.same(readVariables(" \n"), {});
  t.same(readVariables('{ "a": [1, {"b": null}], }'), { a: [1, { b: null }] });
  t.same(readVariables('// a comment\n{ "a": 1 }'), { a: 1 });
  t.match(readVariables('{\n "a": 1,\n x }'), /not JSON: \w+ in line 3\./);
  for (const text of ["1", "[]", "null", '"a"']) t.match(readVariables(text), /one JSON object/, text);
});
