/** An HTTP remote that requires a user and a password. */
import { execFileSync, spawn } from "node:child_process";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { Test } from "tap";
import type { GitFixture } from "./git-fixture.js";

const backend = join(execFileSync("git", ["--exec-path"], { encoding: "utf8" }).trim(), "git-http-backend");

/** Answers a request in place of git, when it has been read. */
export type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** Chooses what answers a request; undefined for git. */
type Choice = (request: IncomingMessage) => Answer | undefined;

/** Serves the fixture through git's CGI program to requests with the password, unless there is another `answer`. */
export async function serveHttp(
  t: Test,
  source: Pick<GitFixture, "path">,
  accepted: (request: IncomingMessage) => string = () => "ada:s3cret",
  answer: Choice = () => undefined,
): Promise<number> {
  const server = createHttpServer((request, response) => {
    const other = answer(request);
    const parts: Buffer[] = [];
    if (other !== undefined)
      request
        .on("data", (part: Buffer) => parts.push(part))
        .on("end", () => other(request, response, Buffer.concat(parts)));
    else if (request.headers.authorization === `Basic ${Buffer.from(accepted(request)).toString("base64")}`)
      runBackend(source, request, response);
    else response.writeHead(401, { "WWW-Authenticate": "Basic realm=x" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

function runBackend(source: Pick<GitFixture, "path">, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const child = spawn(backend, [], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: source.path,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: String(request.headers["content-encoding"] ?? ""),
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
  });
  // A request that is refused ends before its body is read.
  request.pipe(child.stdin).on("error", () => undefined);
  const parts: Buffer[] = [];
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.on("close", () => {
    const output = Buffer.concat(parts);
    const headEnd = output.indexOf("\r\n\r\n");
    for (const line of output.toString("latin1", 0, headEnd).split("\r\n")) {
      const [name = "", value = ""] = line.split(": ");
      if (name === "Status") response.statusCode = Number(value.slice(0, 3));
      else response.setHeader(name, value);
    }
    response.end(output.subarray(headEnd + 4));
  });
}
