import { escapeUrlPath } from "../../src/base/path-text.js";
import { readCredential, readSession } from "../../src/account/sign-in/credential.js";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { parseRemoteUrl, redactUrl } from "../../src/git/run/remote-url.js";
import { parseGlobalId } from "../../src/browse/ids.js";
import { parseCodeHost, nameOfCloneUrl } from "../../src/browse/urls.js";
import { ClientAddresses } from "../../src/http/server/client-address.js";
import { acceptedFormat, isKnown, wantedBytes } from "../../src/http/routes/conditional.js";
import { readPagePath } from "../../src/model/page-path.js";
import { Router } from "../../src/http/server/router.js";
import { acceptedEncoding } from "../../src/http/stream/sse.js";
import { parseStreamParams } from "../../src/http/stream/stream-params.js";
import { addWebhookRoute } from "../../src/http/routes/webhook-route.js";
import type { Handler } from "../../src/http/server/handler.js";
import type { HttpRequest } from "../../src/http/server/request.js";
import type { HttpResponse } from "../../src/http/server/response.js";
import type { HttpServer } from "../../src/http/server/uws.js";
import { makeText, pick, type Vocabulary } from "./inputs.js";
import { allowing } from "./query-targets.js";
import type { FuzzTarget } from "./runner.js";

/** The most that the server takes of a request's head. */
const headBytesMax = 16 << 10;

const credential: Vocabulary = {
  pieces: [
    "token",
    "token-sudo",
    "Bearer",
    "Basic",
    " ",
    "\t",
    "=",
    '"',
    "\\",
    '\\"',
    ",",
    "user",
    "token=",
    'user="a"',
    "a",
    "é",
    "sgs",
    "sgs=",
    ";",
    "; ",
    "c2dwOng=",
    "==",
    ":",
    "sgp_",
    "&",
    "?token=",
    "%",
    "%00",
  ],
  samples: [
    "token sgp_0123456789abcdef",
    'token-sudo user="alice", token="sgp_0123"',
    "Basic c2dwXzAxMjM6eA==",
    "a=b; sgs=0123456789; c=d",
    "token=abc&q=x",
  ],
  lengthMax: headBytesMax,
};

const url: Vocabulary = {
  pieces: [
    "/",
    "//",
    "/-/",
    "-",
    "@",
    ":",
    "?",
    "#",
    ".",
    "..",
    "/.",
    "a",
    "git",
    ".git",
    "github.com",
    "git@",
    "https://",
    "ssh://",
    "file://",
    "ext::",
    "http://user:pw@",
    "%",
    "%2",
    "%2F",
    "%00",
    "%ff",
    "é",
    "\\",
    "[",
    "]",
    "[::1]",
    ":22",
    ":80/",
    "NAME",
    "raw",
    "tree/",
    "blob",
    "compare",
    "...",
    "-/raw/",
    " ",
    "\n",
    "\u0001",
  ],
  samples: [
    "/github.com/a/b@main/-/raw/src/a.c",
    "/a/-/compare/x...y",
    "https://user:secret@example.org:8080/a/b.git",
    "git@github.com:a/b.git",
    "ssh://git@host:22/a/b",
    "/.api/repos/a/b/sync",
    "file:///srv/git/a.git",
    "fatal: unable to access 'https://u:p@h/a': Authorization: Basic abc",
  ],
  lengthMax: headBytesMax,
};

const headers: Vocabulary = {
  pieces: [
    "bytes=",
    "0",
    "-",
    "9",
    "999999999999999",
    ",",
    ";",
    "q=",
    "q=0",
    "q=0.0",
    "gzip",
    "identity",
    "*",
    "*/*",
    "text/plain",
    "application/zip",
    "W/",
    '"',
    '"abc"',
    " ",
    "\t",
    "10.0.0.1",
    "::1",
    "::ffff:1.2.3.4",
    "%eth0",
    "é",
  ],
  samples: [
    "bytes=0-99",
    "bytes=-5",
    "text/html;q=0.5, application/zip",
    "gzip;q=0, deflate",
    'W/"abc", "def"',
    "10.0.0.1, 2001:db8::1",
  ],
  lengthMax: headBytesMax,
};

const stream: Vocabulary = {
  pieces: [
    "q=",
    "v=",
    "t=",
    "display=",
    "cm=",
    "cl=",
    "max-line-len=",
    "&",
    "=",
    "+",
    "%20",
    "%",
    "%ff",
    "V3",
    "keyword",
    "standard",
    "literal",
    "-1",
    "0",
    "1",
    "true",
    "t",
    "9223372036854775808",
    "99999999999999999999",
    "a",
    "é",
  ],
  samples: [
    "q=foo&v=V3&t=keyword&display=500&cm=t&cl=3",
    "q=a+b&max-line-len=-1",
    "display=9223372036854775807&q=x&q=y",
  ],
  lengthMax: 65_536,
};

const events: Vocabulary = {
  pieces: ["event: ", "data: ", "matches", "done", "\n", "\n\n", "\r\n", ":", "[]", "{}", "é", " "],
  samples: [
    'event: matches\ndata: [{"type":"content"}]\n\nevent: done\ndata: {}\n\n',
    'event: progress\ndata: {"done":true}\n\n',
  ],
  lengthMax: 65_536,
};

const delivery: Vocabulary = {
  pieces: [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"repository"',
    '"repositories"',
    '"full_name"',
    '"clone_url"',
    '"project"',
    '"links"',
    '"html"',
    '"__proto__"',
    '"a"',
    "null",
    "1",
    "1e999",
    "true",
    '"\\ud800"',
    "payload=",
    "%7B",
    "\\",
    "é",
  ],
  samples: [
    '{"repository":{"full_name":"a/b","clone_url":"https://github.com/a/b.git","links":{"html":[{"href":"x"}]}}}',
    '{"project":{"git_http_url":"https://gitlab.com/a/b.git"}}',
    '{"repositories":["a","b"]}',
    "payload=%7B%22repository%22%3A%7B%7D%7D",
  ],
  lengthMax: 1 << 20,
};

const router = new Router<string>();
for (const pattern of [
  "/.api/search/stream",
  "/.api/repos/NAME/sync",
  "/.api/repos/NAME",
  "/.api/blame/NAME/-/stream/PATH",
  "/.api/webhooks/ID",
])
  router.add("GET", pattern, pattern);

const addresses = new ClientAddresses(["127.0.0.0/8", "10.0.0.0/8", "2001:db8::/32"]);

/** Whether the last delivery was understood; it is answered later. */
let isRequested = false;

const webhook = webhookHandler();

/** The handler of deliveries, with a secret that its sender knows. */
function webhookHandler(): Handler {
  let handler: Handler | undefined;
  const server = {
    routeWithBody: (_method: string, _path: string, _bytes: number, given: Handler) => {
      handler = given;
    },
  } as unknown as HttpServer;
  addWebhookRoute(server, {
    webhookSecrets: new Map([["id", "secret"]]),
    requestByAddress: (names) => {
      isRequested = true;
      return Promise.resolve({ queued: names.map((name) => name.toLowerCase()), lacks: [] });
    },
    recordRefusal: () => undefined,
    count: () => undefined,
  });
  if (handler === undefined) throw new RangeError("the route was not added");
  return handler;
}

/** Deliveries of one hook are limited for a minute, so each is of another. */
let deliveryCount = 0;

function deliver(form: string, body: Buffer): void {
  const headers = new Map([
    ["x-gitlab-token", "secret"],
    ["x-github-event", "push"],
    ["content-type", form],
  ]);
  let status = 0;
  const request = {
    params: { ID: "id" },
    headers,
    body,
    remoteAddress: `10.0.${deliveryCount >> 8}.${deliveryCount++ & 255}`,
    requestId: "",
  } as unknown as HttpRequest;
  const setStatus = (code: number): void => {
    status = code;
  };
  const response = {
    addHeaders: () => undefined,
    reply: setStatus,
    replyError: setStatus,
  } as unknown as HttpResponse;
  isRequested = false;
  void webhook(request, response);
  if (!isRequested && ![400, 429].includes(status)) throw new RangeError(`answered with ${status}`);
}

export const httpTargets: readonly FuzzTarget[] = [
  {
    name: "credential",
    cpuMsMax: 100,
    testCount: 600,
    make: (random) => makeText(random, credential),
    run: (input) => {
      const text = input.toString("latin1");
      readCredential("", text);
      for (const scheme of ["token", "token-sudo", "Basic", "Bearer"]) readCredential("", `${scheme} ${text}`);
      readCredential(text, undefined);
      readSession(text);
    },
  },
  {
    name: "url",
    cpuMsMax: 100,
    testCount: 600,
    make: (random) => makeText(random, url),
    run: (input) => {
      const text = input.toString();
      const page = readPagePath(text);
      if (page !== undefined && `${page.name}${page.revision}${page.page}${page.path}`.includes("\0"))
        throw new RangeError("a zero byte in a path");
      router.find("GET", text);
      const redacted = redactUrl(text);
      if (/:\/\/[^\s/?#'"]*secret@/.test(redacted)) throw new RangeError(`a password is left: ${redacted}`);
      nameOfCloneUrl(text);
      parseCodeHost(text);
      escapeUrlPath(text);
      allowing(["bad-config"], () => parseRemoteUrl(text));
      allowing(["not-found", "bad-request"], () => parseGlobalId(text));
    },
  },
  {
    name: "header",
    cpuMsMax: 100,
    testCount: 600,
    make: (random) => makeText(random, headers),
    run: (input) => {
      const text = input.toString("latin1");
      const named = new Map(["range", "if-range", "if-none-match"].map((name) => [name, text]));
      const wanted = wantedBytes(named, '"abc"', 1000);
      const part = wantedBytes(new Map([["range", text]]), '"abc"', 1000);
      for (const range of [wanted, part])
        if (range.kind === "part" && !(range.from >= 0 && range.from < range.to && range.to <= 1000))
          throw new RangeError(`range ${range.from}-${range.to}`);
      isKnown(named, '"abc"');
      const format = acceptedFormat(text);
      if (!["text", "zip", "tar"].includes(format)) throw new RangeError(`format ${String(format)}`);
      acceptedEncoding(text);
      addresses.of("10.0.0.1", text);
    },
  },
  {
    name: "stream-parameters",
    cpuMsMax: 100,
    testCount: 600,
    make: (random) => makeText(random, stream),
    run: (input) => void parseStreamParams(input.toString("latin1")),
  },
  {
    name: "events",
    cpuMsMax: 100,
    testCount: 600,
    make: (random) => Buffer.concat([Buffer.from([random(64)]), makeText(random, events)]),
    run: (input) => {
      const decoder = new SseDecoder();
      const step = Math.max(1, (input[0] ?? 1) * 16);
      allowing(["bad-request"], () => {
        for (let at = 1; at < input.length; at += step) decoder.push(input.subarray(at, at + step));
      });
    },
  },
  {
    // The slowest part is JSON.parse, of 1 MiB.
    name: "webhook",
    cpuMsMax: 200,
    testCount: 300,
    make: (random) => Buffer.concat([Buffer.from([random(2)]), makeText(random, delivery)]),
    run: (input) =>
      deliver(
        pick(() => (input[0] ?? 0) & 1, ["application/json", "application/x-www-form-urlencoded"]),
        input.subarray(1),
      ),
  },
];
