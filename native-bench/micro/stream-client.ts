import { createHash } from "node:crypto";
import { get } from "node:http";
import { connect } from "node:net";
import { createGunzip } from "node:zlib";
import { uninitializedBytes } from "../../src/base/bytes.js";
import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";

const matchesHead = "event: matches\ndata: [";
const eventEnd = "\n\n";

/** A server that says nothing for so long has lost a part of its answer. */
const silenceMs = 30_000;

/**
 * The elements of all `matches` arrays that a stream carries, as a short text. Where one event ends and the next begins
 * is left out: a search's stream puts small batches together.
 */
export async function digestOf(port: number, path: string): Promise<string> {
  const body = (await bodyOf(port, path)).toString("latin1");
  const hash = createHash("sha1");
  let bytes = 0;
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf(eventEnd, at);
    if (end < 0) throw new TrawlError("internal", "an event stream ends within an event");
    if (body.startsWith(matchesHead, at)) {
      const elements = `${body.slice(at + matchesHead.length, end - 1)},`;
      hash.update(elements, "latin1");
      bytes += elements.length;
    }
    at = end + eventEnd.length;
  }
  return `${bytes} bytes, ${hash.digest("hex").slice(0, 12)}`;
}

function bodyOf(port: number, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const request = get({ host: "127.0.0.1", port, path, agent: false, timeout: silenceMs }, (response) => {
      const chunks: Buffer[] = [];
      const body = response.headers["content-encoding"] === "gzip" ? response.pipe(createGunzip()) : response;
      body.on("data", (chunk: Buffer) => chunks.push(chunk));
      body.on("error", reject);
      body.on("end", () => resolve(Buffer.concat(chunks)));
    });
    request.on("error", reject);
    request.on("timeout", () => request.destroy(silent()));
  });
}

const lastChunk = Buffer.from("0\r\n\r\n");
const received = uninitializedBytes(1024 * 1024);

/**
 * From the request until the last byte of the answer, which is looked at only as far as to see its end: an answer in
 * chunks ends with an empty one, and no other bytes of ours look like that.
 */
export function drainSeconds(port: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const fromMs = monotonicMs();
    let tail = Buffer.alloc(0);
    const take = (length: number): boolean => {
      const from = Math.max(0, length - lastChunk.length);
      tail = Buffer.concat([tail, received.subarray(from, length)]).subarray(-lastChunk.length);
      if (tail.equals(lastChunk)) {
        resolve((monotonicMs() - fromMs) / 1000);
        socket.destroy();
      }
      return true;
    };
    const socket = connect({ host: "127.0.0.1", port, onread: { buffer: received, callback: take } });
    socket.on("error", reject);
    socket.setTimeout(silenceMs, () => socket.destroy(silent()));
    socket.on("end", () => reject(new TrawlError("internal", "an event stream ended early")));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  });
}

function silent(): TrawlError {
  return new TrawlError("internal", `an event stream was silent for ${silenceMs / 1000} s`);
}
