import { closeSync, fstatSync, openSync, readSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findRateLimit, type RateLimit } from "../../base/rate-limit.js";

/** The end of a trace with the last response; heads of responses are smaller. */
const tailBytesMax = 64 * 1024;

let traceCount = 0;

/**
 * What libcurl tells of the requests of one git command, in a file that exists while the command runs: git's own message of a
 * refused request lacks the headers, which say for how long. git omits credentials, and the bodies are not written.
 */
export class HttpTrace {
  readonly #path: string;

  constructor(directory: string) {
    // `removeLeftovers` finds it if this process is killed.
    this.#path = join(directory, `http-${process.pid}-${++traceCount}.tmp`);
    writeFileSync(this.#path, "", { mode: 0o600, flag: "w" });
  }

  get variables(): Readonly<Record<string, string>> {
    return { GIT_TRACE_CURL: this.#path, GIT_TRACE_CURL_NO_DATA: "1", GIT_TRACE_REDACT: "1" };
  }

  /** The limit because of which the last request was refused; undefined if it was not. `words`: git's message. */
  findRateLimit(words: string): RateLimit | undefined {
    const { status, headers } = parseLastResponse(this.#readTail());
    const told = Number(/returned error: ([0-9]{3})/.exec(words)?.[1] ?? 0);
    return findRateLimit(status || told, headers, words, new Date().getTime());
  }

  /** Where the last response redirects; undefined if it does not. */
  findRedirect(): string | undefined {
    const { status, headers } = parseLastResponse(this.#readTail());
    return status >= 300 && status < 400 ? headers["location"] : undefined;
  }

  #readTail(): string {
    try {
      const file = openSync(this.#path, "r");
      try {
        const from = Math.max(0, fstatSync(file).size - tailBytesMax);
        const buffer = Buffer.alloc(tailBytesMax);
        return buffer.toString("latin1", 0, readSync(file, buffer, 0, tailBytesMax, from));
      } finally {
        closeSync(file);
      }
    } catch {
      return "";
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

const mark = "<= Recv header: ";

/** Status 0 if there was no response. */
export function parseLastResponse(trace: string): {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
} {
  let status = 0;
  let headers: Record<string, string> = {};
  for (const line of trace.split("\n")) {
    const at = line.indexOf(mark);
    if (at < 0) continue;
    const text = line.slice(at + mark.length).trim();
    if (text.startsWith("HTTP/")) {
      status = Number(text.split(" ")[1]) || 0;
      headers = {};
    }
    const colon = text.indexOf(":");
    if (colon > 0) headers[text.slice(0, colon).toLowerCase()] = text.slice(colon + 1).trim();
  }
  return { status, headers };
}
