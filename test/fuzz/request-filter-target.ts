import { loadAddon } from "../../src/native/kernel/addon.js";
import { filteredRequests } from "../support/filtered-requests.js";
import { makeText, mutated, pick, type Vocabulary } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

const secret = "0123456789abcdef0123456789abcdef";

const requests: Vocabulary = {
  pieces: [
    "GET / HTTP/1.1\r\n",
    "GET / HTTP/1.0\r\n",
    "GET http://h/ HTTP/1.1\r\n",
    "POST https://[::1]:80?q HTTP/1.0\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "Host: x\r\n",
    "host:\t y \r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: keep-alive\r\n",
    "Trawl-Http10: 1\r\n",
    "Host: x\r\n\r\n",
    "\r\n",
    "\r",
    "\n",
    " ",
    ":",
    ";",
    "\0",
    "#",
    "@",
    "hello",
    "5\r\nhello\r\n",
    "5;a=b\r\nhello\r\n",
    "0\r\n\r\n",
    "0\r\nA: b\r\n\r\n",
    "f",
    "00000005",
  ],
  samples: [
    "GET / HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
    "GET http://h:80/a?b HTTP/1.1\r\nhost: \t y \r\nA: b\r\n\r\n",
    "GET HTTPS://h?b HTTP/1.1\r\nHOST:\r\n\r\n",
    "\r\n",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "POST http://h HTTP/1.0\r\nHost: x\r\nContent-Length: 18\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\nmore",
    "\r\n\r\n\0\r\nQUIT\n\x20\x11\0\fGET / HTTP/1.0\r\n\r\n",
  ],
  lengthMax: 8 << 10,
};

/**
 * The filter of requests passes on the same bytes in whatever pieces they arrive, and those that a plain reading of them
 * gives.
 */
export const requestFilterTarget: FuzzTarget = {
  name: "http-requests",
  cpuMsMax: 200,
  testCount: 500,
  make: (random) => {
    if (random(4) === 0) return makeText(random, requests);
    const whole = Buffer.from(Array.from({ length: 1 + random(5) }, () => pick(random, requests.samples)).join(""));
    return random(2) === 0 ? whole : mutated(random, whole, requests);
  },
  run: (input) => {
    const { passed, rest } = plainReading(input.toString("latin1"));
    for (const step of [input.length, 1, 7, 536]) {
      const seen = filteredRequests(loadAddon(), input, step, secret);
      if (!seen.startsWith(passed) || !rest.test(seen.slice(passed.length)))
        throw new Error(
          `in pieces of ${step}: ${JSON.stringify(seen)} instead of ${JSON.stringify(passed)} and ${rest.source}`,
        );
    }
  },
};

/** What is passed on: these bytes, and then what is known of the line of a chunk that is incomplete, or wrong. */
interface Reading {
  readonly passed: string;
  readonly rest: RegExp;
}

const token = String.raw`[!#$%&'*+\-.^_\x60|~0-9A-Za-z]`;
const text = String.raw`[\t\x20-\x7e\x80-\xff]`;
const requestLine = new RegExp(`^(${token}{1,32}) ([!-~\\x80-\\xff]+) HTTP/1\\.([01])$`);
const otherLine = new RegExp(`^${token}{1,32} `);
const absolute = /^https?:\/\/((?:\[[0-9a-f:.]+\]|[\w\-.~%!$&'()*+,;=]+)(?::\d*)?)((?:[/?].*)?)$/i;
const header = new RegExp(`^(${token}+)(:[\\t ]*)(${text}*?)[\\t ]*$`);
const nothing = /^$/;

function plainReading(input: string): Reading {
  let passed = "";
  let left = input;
  const refused = (line: string): Reading => ({ passed: `${passed}${line}\r\n\r\n`, rest: nothing });
  for (let isFirst = true; ; isFirst = false) {
    const blank = /^[\r\n]*/.exec(left)?.[0] ?? "";
    if (isFirst && blank.length === 4 && left[4] === "\0") return { passed: passed + left, rest: nothing };
    if (blank.length > 16) return refused("GET / HTTP/1.1");
    left = left.slice(blank.length);
    const method = new RegExp(`^${token}*`).exec(left)?.[0] ?? "";
    if (method.length > 32) return refused("GET / HTTP/1.1");
    if (method.length === left.length) return { passed, rest: nothing };
    if (!otherLine.test(left)) return refused("GET / HTTP/1.1");

    const head = readHead(left);
    if (typeof head !== "object") {
      if (head === "partial") return { passed, rest: nothing };
      if (head === "left") return { passed: passed + left, rest: nothing };
      return refused(head === "bad" ? "GET / HTTP/1.1" : "GET / HTTP/2.0");
    }
    passed += head.written;
    left = left.slice(head.length);
    if (head.isChunked) {
      for (let isOver = false; !isOver; ) {
        const line = new RegExp(`^([0-9a-fA-F]{1,8})(?:;${text}*)?\\r\\n`).exec(left);
        if (line === null) return { passed, rest: /^[0-9a-fA-F]{0,8}\r?$/ };
        const size = Number.parseInt(line[1] ?? "", 16);
        passed += `${line[1]}\r\n`;
        left = left.slice(line[0].length);
        isOver = size === 0;
        const end = isOver ? new RegExp(`^(?:${token}+:${text}*\\r\\n)*\\r\\n`).exec(left)?.[0] : "\r\n";
        const chunk = left.slice(0, size);
        if (chunk.length < size) return { passed: passed + chunk, rest: nothing };
        passed += chunk;
        left = left.slice(size);
        if (end === undefined || !left.startsWith(end)) return { passed, rest: /^\r?$/ };
        passed += "\r\n";
        left = left.slice(end.length);
      }
    } else {
      const body = left.slice(0, head.bodyLength);
      passed += body;
      left = left.slice(body.length);
      if (body.length < head.bodyLength) return { passed, rest: nothing };
    }
    if (head.isHttp10) return { passed, rest: nothing };
  }
}

interface Head {
  readonly length: number;
  readonly written: string;
  readonly bodyLength: number;
  readonly isChunked: boolean;
  readonly isHttp10: boolean;
}

function readHead(input: string): Head | "partial" | "bad" | "version" | "left" {
  const lines: string[] = [];
  let length = 0;
  while (lines.at(-1) !== "") {
    const end = input.indexOf("\n", length);
    if (end < 0) break;
    if (input[end - 1] !== "\r" || end - 1 < length) return lines.length === 0 ? "bad" : (wrongLine(lines) ?? "bad");
    lines.push(input.slice(length, end - 1));
    length = end + 1;
  }
  const wrong = wrongLine(lines);
  if (wrong !== undefined) return wrong;
  if (lines.at(-1) !== "") return "partial";
  const [, method = "", target = "", minor = ""] = requestLine.exec(lines[0] ?? "") ?? [];
  const isHttp10 = minor === "0";
  const [, authority, path = ""] = absolute.exec(target) ?? [];
  const headers = lines.slice(1, -1).map((line) => {
    const [, name = "", colon = "", value = ""] = header.exec(line) ?? [];
    return { name: name.toLowerCase(), value, line, before: name + colon };
  });
  const named = (wanted: string) => headers.filter(({ name }) => name === wanted);
  const isChunked = named("transfer-encoding").length > 0;
  if (isChunked && (isHttp10 || named("content-length").length > 0)) return "bad";
  const host = named("host")[0];
  const added = isHttp10 ? ["Connection: close", `trawl-http10: ${secret}`] : [];
  if (isHttp10 && host === undefined) added.push(`Host: ${authority ?? secret}`);
  const written = headers.map((field) => {
    if (field !== host || authority === undefined) return field.line;
    return field.before + authority + field.line.slice(field.before.length + field.value.length);
  });
  const isServer = isForServer(method, target);
  const inOrigin = authority === undefined ? target : path;
  const originForm = inOrigin.startsWith("/") ? inOrigin : `/${inOrigin}`;
  return {
    length,
    written:
      isHttp10 || authority !== undefined || isServer
        ? [`${method} ${originForm} HTTP/1.1`, ...added, ...written, "", ""].join("\r\n")
        : input.slice(0, length),
    bodyLength: Number(named("content-length")[0]?.value ?? 0),
    isChunked,
    isHttp10,
  };
}

/** What has no path is passed on with the path /*. */
function isForServer(method: string, target: string): boolean {
  return method === "OPTIONS" && target === "*";
}

/** What is wrong with the first line that is wrong. */
function wrongLine(lines: readonly string[]): "bad" | "version" | "left" | undefined {
  const seen = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (at === 0) {
      if (!/^\S+ .+ HTTP\/1\.[01]$/s.test(line)) return "version";
      const [, method = "", target = ""] = requestLine.exec(line) ?? [];
      const authority = absolute.exec(target)?.[1];
      if (
        !target.startsWith("/") &&
        !isForServer(method, target) &&
        (authority === undefined || authority.length > 261)
      )
        return "bad";
    } else if (line !== "" || at < lines.length - 1) {
      const [, name = "", , value = ""] = header.exec(line) ?? [];
      if (name === "") return "bad";
      const lower = name.toLowerCase();
      if (lower === "content-length" && (seen.has(lower) || !/^\d{1,18}$/.test(value))) return "left";
      if (lower === "transfer-encoding" && (seen.has(lower) || value.toLowerCase() !== "chunked")) return "left";
      seen.add(lower);
    }
  }
  return undefined;
}
