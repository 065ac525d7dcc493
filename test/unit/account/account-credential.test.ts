import t from "tap";
import { readCredential, type Credential } from "../../../src/account/sign-in/credential.js";

const token = (text: string): Credential => ({ kind: "token", token: text });
const sudo = (text: string, user: string): Credential => ({ kind: "sudo", token: text, user });
const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

const rows: readonly (readonly [
  header: string | undefined,
  want: Credential | "malformed" | "unrecognised" | "none",
])[] = [
  [undefined, "none"],
  ["", "none"],
  ["token abc", token("abc")],
  ["token abc=", token("abc=")],
  ["token abc def", token("abc def")],
  ['token token="abc"', token("abc")],
  ["token token=abc", token("abc")],
  ['token TOKEN="abc"', token("abc")],
  ['token token="a\\"b\\\\c"', token('a"b\\c')],
  ['token other="abc"', "malformed"],
  ['token token=""', "malformed"],
  ['token token="a",token="b"', "malformed"],
  ["token", "malformed"],
  ["token  ", "malformed"],
  ["Token abc", "unrecognised"],
  ["TOKEN abc", "unrecognised"],
  ['token-sudo token="abc",user="bob"', sudo("abc", "bob")],
  ['token-sudo user="bob",token="abc"', sudo("abc", "bob")],
  ['token-sudo user="bob", token="abc"', sudo("abc", "bob")],
  ["token-sudo user=bob,token=abc", sudo("abc", "bob")],
  ['token-sudo User="bob",Token="abc"', sudo("abc", "bob")],
  ['token-sudo token="abc",user="a, b"', sudo("abc", "a, b")],
  ["token-sudo token=abc", sudo("abc", "")],
  ["token-sudo abc", "malformed"],
  ["token-sudo", "malformed"],
  ['token-sudo user="bob"', "malformed"],
  ['token-sudo token="",user="bob"', "malformed"],
  ['token-sudo token="a",user="bob",user="eve"', "malformed"],
  ['token-sudo token="a",user="bob",', "malformed"],
  ['token-sudo token="a" user="bob"', "malformed"],
  ['token-sudo token="a,user="bob"', "malformed"],
  ["token-sudo ,", "malformed"],
  ["Bearer abc", token("abc")],
  ["Bearer", "malformed"],
  [basic("abc:secret"), token("abc")],
  [basic("abc"), token("abc")],
  [basic(":secret"), "unrecognised"],
  ["Basic %%%", "unrecognised"],
  ["Digest abc", "unrecognised"],
  ["\u0000", "unrecognised"],
];

t.test("the header", async (t) => {
  for (const [header, want] of rows)
    t.same(readCredential("q=a", header), typeof want === "string" ? { kind: want } : want, header ?? "none");
});

t.test("the query takes precedence over the header", async (t) => {
  t.same(readCredential("q=a&token=abc", "token other"), token("abc"));
  t.same(readCredential("token=a%2Bb", undefined), token("a+b"));
  t.same(readCredential("token=", "token other"), token("other"));
  t.same(readCredential("q=token=abc", "token other"), token("other"), "a query that only speaks of one");
});

t.test("a header is parsed in linear time", async (t) => {
  const long = `token-sudo ${'a="'.repeat(20_000)}`;
  t.same(readCredential("", long), { kind: "malformed" });
});
