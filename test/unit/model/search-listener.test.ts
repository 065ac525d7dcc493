/** The events of a search as its listeners get them, and as they are written. */
import t from "tap";
import { type EventPart, EventWriter } from "../../../src/model/event-writer.js";
import { BaseListener, type JsonElements, parseElements, takeArray } from "../../../src/model/search-listener.js";

class Lines extends EventWriter {
  readonly lines: string[] = [];

  send(event: string, data: readonly EventPart[]): void {
    const texts = data.map((part) =>
      typeof part === "string" ? part : Buffer.from(part instanceof Uint8Array ? part : part.bytes).toString(),
    );
    this.lines.push(`${event} ${texts.join("")}`);
  }

  end(): void {
    this.lines.push("end");
    this.close();
  }
}

function pooled(json: string) {
  const part = {
    bytes: Buffer.from(json),
    releaseCount: 0,
    release: () => {
      part.releaseCount++;
    },
  };
  return part;
}

t.test("the names and the JSON of events", async (t) => {
  const lines = new Lines();
  lines.filters([{ value: "v", label: "l", count: 1, exhaustive: true, limitHit: false, kind: "repo" }]);
  lines.matches([Buffer.from('{"a":1},{"a":2}'), pooled('{"a":3}')]);
  lines.changes([Buffer.from('{"b":1}')]);
  lines.progress({ done: true, matchCount: 3, durationMs: 1, skipped: [], trace: "", receipt: undefined });
  lines.alert({ title: "t", proposedQueries: null });
  lines.error("no");
  lines.done();
  t.strictSame(lines.lines, [
    'filters [{"value":"v","label":"l","count":1,"exhaustive":true,"limitHit":false,"kind":"repo"}]',
    'matches [{"a":1},{"a":2},{"a":3}]',
    'changes [{"b":1}]',
    'progress {"done":true,"matchCount":3,"durationMs":1,"skipped":[],"trace":""}',
    'alert {"title":"t","proposedQueries":null}',
    'error {"message":"no"}',
    "done {}",
    "end",
  ]);
});

t.test("bytes that nobody takes are released", async (t) => {
  const closed = new Lines();
  closed.end();
  for (const listener of [new BaseListener(), closed]) {
    const part = pooled('{"a":1}');
    listener.matches([part, Buffer.from('{"a":2}')]);
    listener.changes([part]);
    t.equal(part.releaseCount, 2);
  }
  t.strictSame(closed.lines, ["end"]);
});

t.test("elements are an array only when somebody needs it", async (t) => {
  const part = pooled('{"a":"é"},{"a":2}');
  const parts: JsonElements[] = [part, Buffer.from('{"a":3}')];
  t.strictSame(parseElements(parts), [{ a: "é" }, { a: 2 }, { a: 3 }]);
  t.equal(takeArray(parts).toString(), '[{"a":"é"},{"a":2},{"a":3}]');
  t.equal(part.releaseCount, 2);
});

t.test("a listener is closed once, and drains only before", async (t) => {
  const listener = new BaseListener();
  const seen: string[] = [];
  listener.onClosed(() => seen.push(`closed ${listener.closed}`));
  listener.onDrain(() => seen.push("drain"));
  listener.drained();
  listener.done();
  listener.end();
  listener.drained();
  listener.onClosed(() => seen.push("late"));
  t.strictSame(seen, ["drain", "closed true", "late"]);
});
