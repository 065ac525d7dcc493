import { silentLog } from "../../src/base/log.js";
import { callAfter, monotonicMs } from "../../src/base/deadline.js";
import { sseHeaders } from "../../src/http/stream/sse.js";
import type { ByteStream } from "../../src/http/server/byte-stream.js";
import { plainText } from "../../src/http/server/headers.js";
import type { HttpResponse } from "../../src/http/server/response.js";
import { HttpServer } from "../../src/http/server/uws.js";

/** How long answers take. */
export interface NullBehaviour {
  /** Before the answer to the request of this number, which counts from 0. */
  readonly delayMs: (request: number) => number;
  /** In the last `forMs` of every `everyMs` no answer is sent; undefined for never. */
  readonly stall: { readonly everyMs: number; readonly forMs: number } | undefined;
}

/**
 * A server that searches nothing and answers with a given delay. A generator should measure exactly that delay; whatever
 * it measures beyond is its own cost.
 *
 * It has the routes that the generator knows. Words of a query choose the answer: `bytes:N` for at least N bytes of
 * matches, `status:N`, and `end:` with one of `endings`.
 */
export class NullServer {
  readonly url: string;
  readonly #server: HttpServer;
  readonly #behaviour: NullBehaviour;
  readonly #startMs = monotonicMs();
  #requestCount = 0;

  constructor(behaviour: NullBehaviour) {
    this.#behaviour = behaviour;
    this.#server = new HttpServer(silentLog(), () => {});
    this.#server.route("GET", "/.api/search/stream", (request, response) => {
      this.#later(new URLSearchParams(request.query).get("q") ?? "", response, streamAnswer);
    });
    this.#server.routeWithBody("POST", "/.api/graphql", bodyBytesMax, ({ body }, response) =>
      this.#later(field(body, "query"), response, graphqlAnswer),
    );
    this.#server.routeWithBody("POST", "/api/search", bodyBytesMax, ({ body }, response) =>
      this.#later(field(body, "Q"), response, zoektAnswer),
    );
    this.#server.route("GET", "/PATH", ({ path }, response) =>
      this.#later(decodeURIComponent(path.slice(1)), response, () => response.reply(200, plainText, "ok\n")),
    );
    this.url = `http://127.0.0.1:${this.#server.listen("127.0.0.1", 0, () => {})}`;
  }

  get requestCount(): number {
    return this.#requestCount;
  }

  stop(): Promise<void> {
    return this.#server.stop(0);
  }

  #later(words: string, response: HttpResponse, answer: (wish: Wish, response: HttpResponse) => void): void {
    const wish = readWish(words);
    const delayMs = this.#stalledUntil(this.#behaviour.delayMs(this.#requestCount++));
    const act = (): void => {
      if (wish.status === 200) answer(wish, response);
      else response.reply(wish.status, plainText, "as you wish\n");
    };
    if (delayMs <= 0) act();
    else callAfter(delayMs, act);
  }

  /** The delay, or a longer one when it would end while the server stalls. */
  #stalledUntil(delayMs: number): number {
    const { stall } = this.#behaviour;
    if (stall === undefined) return delayMs;
    const at = (monotonicMs() - this.#startMs + delayMs) % stall.everyMs;
    return at < stall.everyMs - stall.forMs ? delayMs : delayMs + stall.everyMs - at;
  }
}

/** How an answer ends. All but the first two are for streams. */
export const endings = ["done", "errors", "no-done", "cut", "hang", "breach", "alert", "error", "partial"] as const;
type Ending = (typeof endings)[number];

interface Wish {
  readonly status: number;
  readonly bytes: number;
  readonly ending: Ending;
}

function readWish(words: string): Wish {
  const wished = (name: string): string | undefined => new RegExp(`\\b${name}:([\\w-]+)`).exec(words)?.[1];
  const ending = endings.find((name) => name === wished("end")) ?? "done";
  return { status: Number(wished("status") ?? 200), bytes: Number(wished("bytes") ?? 0), ending };
}

const bodyBytesMax = 64 * 1024;

function field(body: Uint8Array, name: string): string {
  return String((JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>)[name]);
}

function graphqlAnswer({ ending }: Wish, response: HttpResponse): void {
  response.reply(200, json, ending === "errors" ? '{"errors":[{"message":"as you wish"}]}' : '{"data":{}}');
}

function zoektAnswer({ ending }: Wish, response: HttpResponse): void {
  response.reply(
    200,
    json,
    ending === "errors" ? '{"Error":"as you wish"}\n' : '{"Result":{"FileCount":0,"Files":[{}]}}\n',
  );
}

const json = { "Content-Type": "application/json" };

/** At least one `matches` event, as fast as the client reads them, and the end. */
function streamAnswer({ bytes, ending }: Wish, response: HttpResponse): void {
  const body = response.startStream(200, sseHeaders("identity"));
  let left = Math.max(1, Math.ceil(bytes / matchesEvent.length));
  const go = (): void => {
    while (left > 0 && !body.closed) {
      left--;
      if (!body.write(left === 0 && bytes === 0 ? smallEvent : matchesEvent)) return;
    }
    if (left === 0) finish(ending, body);
    left = -1;
  };
  body.onWritable(go);
  go();
}

function finish(ending: Ending, body: ByteStream): void {
  switch (ending) {
    case "hang":
      return;
    case "cut":
      return body.cut();
    case "no-done":
      return body.end();
    case "breach":
      body.write(Buffer.from(": a comment\n\n"));
      return body.end();
    default:
      body.write(Buffer.from(lastEvents(ending)));
      body.end();
  }
}

function lastEvents(ending: Ending): string {
  const skipped = ending === "partial" ? '[{"reason":"shard-timeout","title":"1 timed out"}]' : "[]";
  const progress = event("progress", `{"done":true,"matchCount":1,"durationMs":1,"skipped":${skipped}}`);
  const alert = ending === "alert" ? event("alert", '{"title":"as you wish","proposedQueries":null}') : "";
  const error = ending === "error" ? event("error", '{"message":"as you wish"}') : "";
  return progress + alert + error + event("done", "{}");
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

const smallEvent = Buffer.from(event("matches", '[{"type":"repo"}]'));
/** As large as the server's largest block. */
const matchesEvent = Buffer.from(event("matches", `[{"content":"${"x".repeat(15_000 - 42)}"}]`));
