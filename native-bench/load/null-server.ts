import { callAfter, monotonicMs } from "../../src/base/deadline.js";
import { silentLog } from "../../src/base/log.js";
import { plainText } from "../../src/http/server/headers.js";
import type { HttpResponse } from "../../src/http/server/response.js";
import { HttpServer } from "../../src/http/server/uws.js";
import { sseHeaders } from "../../src/http/stream/sse.js";

/** How long answers take. */
interface NullBehaviour {
  /** Before the answer to the request of this number, which counts from 0. */
  readonly delayMs: (request: number) => number;
  /** In the last `forMs` of every `everyMs` no answer is sent; undefined for never. */
  readonly stall: { readonly everyMs: number; readonly forMs: number } | undefined;
}

const bodyBytesMax = 64 * 1024;
const json = { "Content-Type": "application/json" };

/**
 * A server that searches nothing and answers with a given delay. A generator should measure exactly that delay; whatever
 * it measures beyond is its own cost.
 *
 * It has the routes of a daemon and of zoekt. Words of a query choose the answer: `bytes:N` for at least N bytes of
 * matches, `status:N`, and `end:no-done`, `end:cut`, or `end:N` for a last event of which the first N bytes are sent apart.
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
    this.#postJson("/.api/graphql", "query", '{"data":{}}');
    this.#postJson("/api/search", "Q", '{"Result":{"FileCount":0,"Files":[{}]}}\n');
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

  /** A route whose query is a member of a JSON body. */
  #postJson(path: string, member: string, answer: string): void {
    this.#server.routeWithBody("POST", path, bodyBytesMax, ({ body }, response) => {
      const query = (JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>)[member];
      this.#later(String(query), response, () => response.reply(200, json, answer));
    });
  }

  #later(words: string, response: HttpResponse, answer: (words: string, response: HttpResponse) => void): void {
    const delayMs = this.#stalledUntil(this.#behaviour.delayMs(this.#requestCount++));
    const act = (): void => {
      const status = Number(wished(words, "status") ?? 200);
      if (status === 200) answer(words, response);
      else response.reply(status, plainText, "as you wish\n");
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

function wished(words: string, name: string): string | undefined {
  return new RegExp(`\\b${name}:([\\w-]+)`).exec(words)?.[1];
}

/** At least one `matches` event, as fast as the client reads them, and the end. */
function streamAnswer(words: string, response: HttpResponse): void {
  const body = response.startStream(200, sseHeaders("identity"));
  const bytes = Number(wished(words, "bytes") ?? 0);
  const ending = wished(words, "end") ?? "done";
  let left = Math.max(1, Math.ceil(bytes / matchesEvent.length));
  const go = (): void => {
    while (left > 0 && !body.closed) {
      left--;
      if (!body.write(left === 0 && bytes === 0 ? smallEvent : matchesEvent)) return;
    }
    if (left === 0 && ending === "cut") body.cut();
    else if (left === 0) {
      const apart = lastEvents.length - doneEvent.length + Number(ending);
      if (apart > 0) for (const part of [lastEvents.subarray(0, apart), lastEvents.subarray(apart)]) body.write(part);
      else if (ending !== "no-done") body.write(lastEvents);
      body.end();
    }
    left = -1;
  };
  body.onWritable(go);
  go();
}

function event(name: string, data: string): string {
  return `event: ${name}\ndata: ${data}\n\n`;
}

const smallEvent = Buffer.from(event("matches", '[{"type":"repo"}]'));
/** As large as the server's largest block. */
const matchesEvent = Buffer.from(event("matches", `[{"content":"${"x".repeat(15_000 - 42)}"}]`));
const doneEvent = event("done", "{}");
const lastEvents = Buffer.from(
  event("progress", '{"done":true,"matchCount":1,"durationMs":1,"skipped":[]}') + doneEvent,
);
