import { createHash } from "node:crypto";
import { accessSync, constants, createReadStream } from "node:fs";
import { type Agent, type IncomingMessage, request } from "node:http";
import { delimiter, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Answer, ResultSet } from "./peer.js";
import { ended, run, start } from "../system/processes.js";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { TrawlError } from "../../src/base/errors.js";

const timeoutMs = 600_000;
const newline = 10;
const colon = 58;

/**
 * Runs a tool that prints `PREFIXPATH:LINE:TEXT`, and reads what it found. Other lines are remarks about binary files.
 * Exit code 1 means that nothing was found.
 */
export async function readLineOutput(
  [command = "", ...args]: readonly string[],
  environment: NodeJS.ProcessEnv,
  prefix: string,
): Promise<Answer> {
  const child = start(command, args, { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, ...environment } });
  const code = ended(child, timeoutMs);
  const reader = new LineReader(prefix);
  for await (const part of child.stdout as AsyncIterable<Buffer>) reader.push(part);
  if ((await code) > 1) throw new TrawlError("internal", `${command} ${args.join(" ")} ended with ${await code}`);
  return reader.end();
}

/** Reads output in pieces of any size. */
export class LineReader {
  readonly #lines = new ResultSet();
  readonly #prefix: Buffer;
  #bytes = 0;
  #rest: Buffer = Buffer.alloc(0);

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  push(part: Buffer): void {
    this.#bytes += part.length;
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    let from = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      this.#addLine(bytes.subarray(from, end));
      from = end + 1;
    }
    this.#rest = bytes.subarray(from);
  }

  end(): Answer {
    this.#addLine(this.#rest);
    return { lines: this.#lines, bytes: this.#bytes };
  }

  /** codesearch omits the newline of a last line that has none in the file, so its next match can be on the same line. */
  #addLine(line: Buffer): void {
    if (this.#prefix.length === 0) return this.#addMatch(line, 0);
    for (let at = line.indexOf(this.#prefix); at !== -1; at = line.indexOf(this.#prefix, at + this.#prefix.length)) {
      this.#addMatch(line, at + this.#prefix.length);
    }
  }

  #addMatch(bytes: Buffer, pathStart: number): void {
    for (let at = bytes.indexOf(colon, pathStart); at !== -1; at = bytes.indexOf(colon, at + 1)) {
      let line = 0;
      let digit = at + 1;
      for (; isDigit(bytes[digit]); digit++) line = line * 10 + (bytes[digit] ?? 0) - 48;
      if (digit === at + 1 || bytes[digit] !== colon) continue;
      this.#lines.add(bytes.toString("utf8", pathStart, at), line);
      return;
    }
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

/**
 * The path of a program: in a folder of the variable `BENCH_TOOLS`, else of `PATH`; undefined when it is in none.
 */
export function findTool(name: string): string | undefined {
  const folders = [process.env["BENCH_TOOLS"], process.env["PATH"]].flatMap((list) => list?.split(delimiter) ?? []);
  return folders
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Programs of a peer in the order of their names, or what is missing and how to get it. */
type Tools =
  | { readonly kind: "found"; readonly programs: readonly string[] }
  | { readonly kind: "missing"; readonly reason: string };

export function findTools(names: readonly string[], origin: string): Tools {
  const missing = names.filter((name) => findTool(name) === undefined);
  if (missing.length > 0)
    return { kind: "missing", reason: `${missing.join(" and ")} not in a folder of BENCH_TOOLS or PATH (${origin})` };
  return { kind: "found", programs: names.flatMap((name) => findTool(name) ?? []) };
}

/** The first line that a program prints about its version. */
export async function readVersionLine(program: string, args: readonly string[]): Promise<string> {
  return (await run(program, args, "").catch(() => "")).split("\n")[0] ?? "";
}

/** The beginning of the SHA-256 of a program, for programs that do not print their version. */
export async function fingerprint(program: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(program), hash);
  return hash.digest("hex").slice(0, 12);
}

/** A search over HTTP; with a body it is a POST of JSON. */
export interface HttpSearch {
  readonly url: string;
  readonly body: string | undefined;
  /** Keeps a connection open; without it each search opens one. */
  readonly agent?: Agent;
}

const curl = ["-q", "-sf", "-o", "/dev/null", "--max-time", "300", "-w", "%{time_total}"];

/** Milliseconds until curl has read the whole answer, from before it connects. The same client for every server. */
export async function curlMs({ url, body }: HttpSearch): Promise<number> {
  const post = body === undefined ? [] : ["-H", "content-type: application/json", "--data-raw", body];
  return 1000 * Number(await run("curl", [...curl, ...post, url], ""));
}

/** The bytes of a good answer as they arrive. */
export async function openAnswer({ url, body, agent }: HttpSearch): Promise<AsyncIterable<Buffer>> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, { agent: agent ?? false, method: body === undefined ? "GET" : "POST", headers }, resolve);
    sent.on("error", reject).end(body);
  });
  if (response.statusCode === 200) return response;
  response.destroy();
  throw new TrawlError("overloaded", `${url} answered ${response.statusCode}`);
}

/**
 * Calls `take` with the events of a search stream of our daemon and returns the size of the answer. Throws for an alert, an
 * error, and an answer that ends early; `query` is for the message.
 */
export async function readStream(
  search: HttpSearch,
  query: string,
  take: (event: string, data: string) => void,
): Promise<number> {
  const decoder = new SseDecoder();
  let byteCount = 0;
  let isDone = false;
  for await (const bytes of await openAnswer(search)) {
    byteCount += bytes.length;
    for (const { name, data } of decoder.push(bytes)) {
      if (name === "alert" || name === "error") throw new TrawlError("bad-request", `${query}: ${data}`);
      take(name, data);
      isDone ||= name === "done";
    }
  }
  if (!isDone) throw new TrawlError("cancelled", `${query}: the answer ended early`);
  return byteCount;
}
