/** Texts that are stored encrypted. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { SealedTexts } from "../../../src/account/identity/sealed-texts.js";

t.test("only who has the key reads them, and only what they are about", async (t) => {
  const path = join(t.testdir(), "key");
  const sealed = await new SealedTexts(path).seal("a token", "ann");
  t.notMatch(sealed, /token/);
  t.not(await new SealedTexts(path).seal("a token", "ann"), sealed, "no two are the same");
  t.equal(statSync(path).mode & 0o777, 0o600);
  const later = new SealedTexts(path);
  t.equal(await later.open(sealed, "ann"), "a token", "after a restart");
  t.equal(await later.open(sealed, "bob"), undefined, "it is about somebody else");
  const other = sealed.at(-2) === "A" ? "B" : "A";
  for (const [name, text] of [
    ["changed", sealed.slice(0, -2) + other + sealed.slice(-1)],
    ["cut", sealed.slice(0, 30)],
    ["empty", ""],
    ["of a later version", sealed.replace("1.", "2.")],
  ] as const)
    t.equal(await later.open(text, "ann"), undefined, name);
  const key = readFileSync(path);
  writeFileSync(path, key.subarray(1));
  const damaged = new SealedTexts(path);
  const refusal = {
    code: "storage",
    message: /it has 31 bytes instead of 32: put the right file in its place, or delete/,
  };
  await t.rejects(damaged.open(sealed, "ann"), refusal);
  await t.rejects(damaged.seal("another", "ann"), refusal);
  t.same(readFileSync(path), key.subarray(1), "it is not overwritten");
  writeFileSync(path, key);
  t.equal(await damaged.open(sealed, "ann"), "a token", "it was put right");
  rmSync(path);
  t.equal(await new SealedTexts(path).open(sealed, "ann"), undefined, "the key is lost");
  await t.rejects(new SealedTexts("/dev/null/key").seal("a token", "ann"), { code: "storage", message: /the key in/ });
});
