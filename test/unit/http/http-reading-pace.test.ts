import { PassThrough } from "node:stream";
import t from "tap";
import { sendOutput, ReadingPace } from "../../../src/http/stream/child-output.js";
import type { ByteStream } from "../../../src/http/server/byte-stream.js";
import type { GitOutput } from "../../../src/git/run/run.js";
import { sleep } from "../../../src/base/deadline.js";
import { until, waitMsMax } from "../../support/waiting.js";

const kibibyte = 1024;

/** The bytes that a client reads in each quarter of a minute, and whether data was waiting for it then. */
type Quarter = readonly [kibibytes: number, isFull: boolean];

function isEverTooSlow(quarters: readonly Quarter[]): boolean {
  const pace = new ReadingPace(60_000, 0);
  return quarters
    .map(([kibibytes, isFull], i) => {
      pace.recordTaken(kibibytes * kibibyte);
      return pace.isTooSlow(15_000 * (i + 1), isFull);
    })
    .includes(true);
}

t.test("which clients read too slowly", (t) => {
  const times = (count: number, quarter: Quarter): Quarter[] => Array.from({ length: count }, () => quarter);
  const rows: readonly (readonly [name: string, quarters: readonly Quarter[], isSlow: boolean])[] = [
    ["a few bytes a minute", times(4, [0.01, true]), true],
    ["nothing", times(4, [0, true]), true],
    ["not before a minute is over", times(3, [0, true]), false],
    ["1 MiB in a minute", times(40, [256, true]), false],
    ["a little less", times(4, [255, true]), true],
    ["one that has all there is, however little that is", times(40, [0, false]), false],
    ["one that was fast and slept", [...times(8, [10_000, true]), ...times(4, [0, true])], true],
    [
      "one that catches up in between",
      [...times(3, [0, true]), [2_000, false], ...times(3, [0, true]), [2_000, true]],
      false,
    ],
  ];
  for (const [name, quarters, isSlow] of rows) t.equal(isEverTooSlow(quarters), isSlow, name);
  t.end();
});

/** A client that reads ten bytes every few milliseconds, so that it never stops completely. */
class Trickle implements ByteStream {
  closed = false;
  blockCount = 0;
  #writable: () => void = () => undefined;
  #closed: () => void = () => undefined;

  write(): boolean {
    this.blockCount++;
    return false;
  }

  writeLast(): void {
    this.write();
    this.end();
  }

  end(): void {
    this.cut();
  }

  cut(): void {
    this.closed = true;
    this.#closed();
  }

  onWritable(callback: () => void): void {
    this.#writable = callback;
  }

  onClosed(callback: () => void): void {
    this.#closed = callback;
  }

  async takeUntil(isDone: () => boolean, stdout: PassThrough): Promise<void> {
    const take = async (): Promise<boolean> => {
      if (isDone()) return true;
      stdout.write("0123456789");
      await sleep(5);
      if (!this.closed) this.#writable();
      return false;
    };
    // It paces itself.
    await until("the client is done", take, waitMsMax, 0);
  }
}

t.test("a client that reads a few bytes at a time keeps its response until others wait for it", async (t) => {
  const stdout = new PassThrough();
  const child = {
    stdout,
    from: 0,
    ended: new Promise<void>(() => undefined),
    watchSilence: () => undefined,
    kill: () => undefined,
  } satisfies GitOutput;
  const client = new Trickle();
  let isContended = false;
  const sent = sendOutput(
    child,
    { from: 0, to: Infinity },
    { stallMs: 2_000, isContended: () => isContended },
    () => client,
  );
  await client.takeUntil(() => client.blockCount >= 250, stdout);
  t.notOk(client.closed, "nobody waits");
  isContended = true;
  await client.takeUntil(() => client.closed, stdout);
  t.equal(await sent, true, "now it is cut");
});
