import assert from "node:assert/strict";
import { SseDecoder, type StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import type { ChangeSummary, MatchChange } from "../../src/model/match-change.js";
import type { Progress, Receipt, StreamError } from "../../src/model/stream-events.js";
import type { DaemonProcess } from "./daemon.js";
import type { FixtureFile, GitFixture } from "./git-fixture.js";

/** What a search for changes has answered. */
export interface Answer {
  readonly changes: readonly MatchChange[];
  readonly summary: ChangeSummary | undefined;
  readonly receipt: Receipt | undefined;
  readonly progress: Progress | undefined;
  readonly error: string;
}

function answerOf(events: readonly StreamEvent[]): Answer {
  const all = <T>(name: string): T[] =>
    events.flatMap((event) => (event.name === name ? [JSON.parse(event.data) as T] : []));
  const progress = all<Progress>("progress").at(-1);
  return {
    changes: all<MatchChange[]>("changes").flat(),
    summary: progress?.changes,
    receipt: progress?.receipt,
    progress,
    error: all<StreamError>("error")
      .map(({ message }) => message)
      .join(),
  };
}

const parameters = (q: string, more: Readonly<Record<string, string>>): string =>
  String(new URLSearchParams({ q, v: "V3", t: "standard", ...more }));

export async function search(
  daemon: DaemonProcess,
  q: string,
  more: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { text } = await daemon.get(`/.api/search/stream?${parameters(q, more)}`);
  return answerOf(new SseDecoder().push(Buffer.from(text)));
}

export async function receiptOf(daemon: DaemonProcess, q: string): Promise<Receipt> {
  const { receipt, error } = await search(daemon, q, { receipt: "1" });
  assert.ok(receipt, error);
  return receipt;
}

/** Changes since a receipt, which is sent as a body. */
export async function changesSince(daemon: DaemonProcess, q: string, receipt: unknown): Promise<Answer> {
  const response = await fetch(`${daemon.url}/.api/search/changes?${parameters(q, {})}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof receipt === "string" ? receipt : JSON.stringify(receipt),
  });
  return answerOf(new SseDecoder().push(Buffer.from(await response.text())));
}

/** Texts by path. */
export type Files = ReadonlyMap<string, string>;

const words = ["alpha", "beta", "gamma", "alpha beta", "delta", "", "alphabet"];

/** Changes some files at random: edits, additions, deletions, renames. */
export function nextFiles(files: Files, pick: (count: number) => number): Map<string, string> {
  const next = new Map(files);
  const line = (): string => words[pick(words.length)];
  for (let i = 0; i <= pick(3); i++) {
    const paths = [...next.keys()];
    const path = paths[pick(paths.length)] ?? "a.c";
    const lines = (next.get(path) ?? "").split("\n");
    switch (pick(6)) {
      case 0:
        next.set(
          `dir${pick(3)}/f${pick(20)}.${pick(2) === 0 ? "c" : "txt"}`,
          Array.from({ length: 4 }, line).join("\n"),
        );
        break;
      case 1:
        if (next.size > 2) next.delete(path);
        break;
      case 2:
        next.delete(path);
        next.set(`dir${pick(3)}/g${pick(20)}.c`, lines.join("\n"));
        break;
      default:
        lines.splice(pick(lines.length + 1), pick(2), ...Array.from({ length: pick(3) }, line));
        next.set(path, lines.join("\n"));
    }
  }
  return next;
}

export function commitFiles(source: GitFixture, branch: string, before: Files, after: Files): string {
  const files: Record<string, FixtureFile> = {};
  for (const path of before.keys()) if (!after.has(path)) files[path] = { deleted: true };
  for (const [path, text] of after) if (before.get(path) !== text) files[path] = text;
  return source.commit({ branch, files });
}

/** The events of a stream that has no end. */
export class Watching {
  readonly events: StreamEvent[] = [];
  readonly #stop = new AbortController();
  readonly status: Promise<number>;

  constructor(daemon: DaemonProcess, q: string, more: Readonly<Record<string, string>>) {
    const url = `${daemon.url}/.api/search/stream?${parameters(q, { watch: "1", ...more })}`;
    const response = fetch(url, { signal: this.#stop.signal });
    this.status = response.then(({ status }) => status);
    this.status.catch(() => undefined);
    response
      .then(async ({ body }) => {
        const decoder = new SseDecoder();
        for await (const bytes of body ?? []) this.events.push(...decoder.push(bytes));
      })
      .catch(() => undefined);
  }

  get answer(): Answer {
    return answerOf(this.events);
  }

  stop(): void {
    this.#stop.abort();
  }
}
