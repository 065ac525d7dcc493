/** What uploads may use of the disk until their index is built, and who may end them. */
import t from "tap";
import { UnfinishedUploads } from "../../../src/precise/unfinished-uploads.js";

const [ann, bob] = [1, 2];

t.test("an upload has a limit over all of its parts", async (t) => {
  const uploads = new UnfinishedUploads(100);
  uploads.begin(1, ann, 0);
  const first = uploads.openPart(1, 0);
  uploads.grow(1, first, 60);
  t.throws(() => uploads.grow(1, first, 41), { code: "content-too-large" });
  uploads.arrive(1, first, 0);
  const second = uploads.openPart(1, 1);
  uploads.grow(1, second, 40);
  t.throws(() => uploads.grow(1, second, 1), { code: "content-too-large" });
  uploads.discardPart(1, second);
  const again = uploads.openPart(1, 0);
  uploads.grow(1, again, 100);
  uploads.arrive(1, again, 0);
  t.throws(() => uploads.grow(1, uploads.openPart(1, 1), 1), { code: "content-too-large" });
});

t.test("all have a limit together, of which one user has a share", async (t) => {
  const uploads = new UnfinishedUploads(100);
  const fill = (id: number, byteCount: number): void => uploads.grow(id, uploads.openPart(id, 0), byteCount);
  for (const id of [1, 2, 3, 4]) uploads.begin(id, ann, 0);
  uploads.begin(5, bob, 0);
  uploads.resume(6, bob, 20);
  for (const id of [1, 2, 3]) fill(id, 100);
  t.throws(() => fill(4, 1), { code: "overloaded", message: /300|301/ });
  fill(5, 80);
  t.throws(() => fill(5, 1), { code: "overloaded" });
  uploads.delete(6);
  fill(5, 20);
  for (let id = 10; id < 43; id++) uploads.begin(id, ann, 0);
  t.throws(() => uploads.begin(50, ann, 0), { code: "overloaded", message: /37 of them from you/ });
  for (let id = 60; id < 72; id++) uploads.begin(id, bob, 0);
  t.throws(() => uploads.begin(80, bob, 0), { code: "overloaded", message: /^50/ });
});

t.test("an upload ends once", async (t) => {
  const uploads = new UnfinishedUploads(100);
  uploads.begin(1, ann, 0);
  const part = uploads.openPart(1, 0);
  uploads.complete(1);
  for (const late of [
    () => uploads.complete(1),
    () => uploads.requireOpen(1),
    () => uploads.openPart(1, 1),
    () => uploads.grow(1, part, 1),
  ])
    t.throws(late, { code: "not-found" });
  uploads.reopen(1);
  uploads.complete(1);
});

t.test("what does not arrive is given up", async (t) => {
  const uploads = new UnfinishedUploads(100);
  for (const id of [1, 2, 3]) uploads.begin(id, ann, 0);
  uploads.resume(4, ann, 1);
  uploads.arrive(2, uploads.openPart(2, 0), 1_000);
  uploads.complete(3);
  t.same(uploads.late(3_600_000), []);
  t.same(uploads.late(3_600_001), [1]);
  t.same(uploads.late(3_601_001), [1, 2]);
});
