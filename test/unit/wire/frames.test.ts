import t from "tap";
import { type Frame, FrameParser, frameStart } from "../../../src/wire/frames.js";
import { list, natural, object, choice, optional, text, tuple, word } from "../../../src/wire/shapes.js";
import { fc, runs, seed } from "../../support/property.js";

const limits = { headBytesMax: 100, bodyBytesMax: 50 };

function encode(head: object, body: Uint8Array): Buffer {
  return Buffer.concat([frameStart(head, body.length, limits), body]);
}

function parse(chunks: readonly Uint8Array[]): Pick<Frame, "head" | "body">[] {
  const parser = new FrameParser(limits);
  const frames = chunks.flatMap((chunk) => [...parser.push(chunk)]);
  return parser.isWithin ? [...frames, { head: { within: true }, body: new Uint8Array() }] : frames;
}

t.test("the memory of a large frame is used again once it is released, and not before", (t) => {
  const parser = new FrameParser();
  const take = (letter: string, byteCount = 200_000): Frame => {
    const body = Buffer.alloc(byteCount, letter);
    const bytes = Buffer.concat([frameStart({ letter }, byteCount), body]);
    const [frame] = [0, 1, 2, 3].flatMap((i) => [...parser.push(bytes.subarray(i * 60_000, (i + 1) * 60_000))]);
    if (frame === undefined) throw new Error("no frame");
    t.ok(body.equals(frame.body), letter);
    return frame;
  };
  const [a, b] = [take("a"), take("b")];
  t.not(a.body.buffer, b.body.buffer);
  a.release();
  a.release();
  const [c, d] = [take("c"), take("d")];
  t.equal(c.body.buffer, a.body.buffer, "used again, for one other frame");
  t.not(d.body.buffer, c.body.buffer);
  t.ok(Buffer.alloc(200_000, "b").equals(b.body), "what was not released is left alone");
  const small = take("e", 50_000);
  small.release();
  t.equal(small.body.byteLength, 50_000);
  t.ok(small.body.buffer.byteLength < 60_000, "a small frame has only what it needs");
  t.end();
});

t.test("frames arrive as they were sent, in whatever pieces", async (t) => {
  const frame = fc.record({
    head: fc.record({ k: fc.string({ maxLength: 10 }) }),
    body: fc.uint8Array({ maxLength: 50 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(frame, { maxLength: 5 }),
      fc.array(fc.nat(40), { maxLength: 20 }),
      async (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(({ head, body }) => encode(head, body)));
        const chunks: Buffer[] = [];
        let from = 0;
        for (const cut of cuts) chunks.push(bytes.subarray(from, (from += cut)));
        chunks.push(bytes.subarray(from));
        const got = parse(chunks).map(({ head, body }) => [JSON.stringify(head), Buffer.from(body).toString("hex")]);
        const want = frames.map(({ head, body }) => [JSON.stringify(head), Buffer.from(body).toString("hex")]);
        return JSON.stringify(got) === JSON.stringify(want);
      },
    ),
    { seed, numRuns: runs(300) },
  );
  t.pass();
});

t.test("a frame in single bytes is put together", (t) => {
  const body = Uint8Array.from({ length: 20_000 }, (_, i) => i & 0xff);
  const large = { headBytesMax: 100, bodyBytesMax: 50_000 };
  const bytes = Buffer.concat([frameStart({ k: 1 }, body.length, large), body]);
  const parser = new FrameParser(large);
  const cuts = [...Array.from({ length: 9_000 }, (_, i) => i), 14_000];
  const chunks = cuts.map((cut, i) => bytes.subarray(cut, cuts[i + 1]));
  const frames = chunks.flatMap((chunk) => [...parser.push(chunk)]);
  t.same(
    frames.map(({ head, headBytes }) => [head, headBytes]),
    [[{ k: 1 }, 7]],
  );
  t.ok(Buffer.from(body).equals(frames[0].body));
  t.end();
});

t.test("lengths are believed only within limits, and nothing is kept ready for them", (t) => {
  const lengths = (head: number, body: number): Buffer => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32LE(head, 0);
    bytes.writeUInt32LE(body, 4);
    return bytes;
  };
  t.throws(() => parse([lengths(101, 0)]), { code: "bad-request", message: /101 bytes, of at most 100/ });
  t.throws(() => parse([lengths(2, 51)]), { code: "bad-request", message: /51 bytes, of at most 50/ });
  t.throws(() => parse([lengths(2, 0), Buffer.from("[]")]), { code: "bad-request", message: /no object/ });
  t.throws(() => parse([lengths(2, 0), Buffer.from("{x")]), { code: "bad-request", message: /no JSON/ });
  t.same(parse([lengths(2, 3), Buffer.from("{}ab")]), [{ head: { within: true }, body: new Uint8Array() }], "cut off");
  t.throws(() => frameStart({}, 51, limits), { code: "internal" });
  t.throws(() => frameStart({ a: "x".repeat(100) }, 0, limits), { code: "internal" });
  t.end();
});

t.test("shapes say where a value is not what it should be", (t) => {
  const shape = object({
    kind: choice(["a", "b"]),
    count: natural,
    names: list(text(3), 2),
    pair: optional(tuple(word, natural)),
  });
  const good = { kind: "a", count: 3, names: ["x"], pair: [1, 2] };
  t.same(shape({ ...good, more: 1 }, "m"), good, "without what nobody asks for");
  for (const [change, message] of [
    [{ kind: "c" }, /m\.kind must be a or b/],
    [{ count: -1 }, /m\.count must be a count/],
    [{ count: 1.5 }, /m\.count/],
    [{ count: 2 ** 53 }, /m\.count/],
    [{ count: "1" }, /m\.count/],
    [{ names: ["abcd"] }, /m\.names\[0\] must be a text/],
    [{ names: ["a", "b", "c"] }, /m\.names must be a list of up to 2/],
    [{ names: { length: 1 } }, /m\.names/],
    [{ pair: [1] }, /m\.pair must be a list of 2/],
    [{ pair: [2 ** 32, 1] }, /m\.pair\[0\]/],
  ] as const)
    t.throws(() => shape({ ...good, ...change }, "m"), { code: "bad-request", message }, JSON.stringify(change));
  t.throws(() => shape(null, "m"), { code: "bad-request" });
  t.end();
});
