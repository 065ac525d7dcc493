import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import type { ApiConnection } from "../../src/codehost/connection.js";

/** The configuration of a connection to a code host. */
export function connection(changes: Partial<ApiConnection>): ApiConnection {
  return {
    name: "acme",
    kind: "github",
    url: "https://api.github.com",
    command: [],
    credential: "",
    app: "",
    appKey: "",
    installation: "",
    owners: ["acme"],
    include: [],
    exclude: [],
    forks: true,
    archived: true,
    ssh: false,
    hosts: ["h", "github.com"],
    permissions: "readers",
    readers: [],
    permissionsSeconds: 3600,
    permissionsProvider: "",
    userNames: {},
    prefix: "host/",
    lfs: false,
    workingCopies: false,
    submodules: false,
    submodulesFrom: [],
    workingCopySeconds: 5,
    intervalSeconds: 3600,
    maxRepositories: 1000,
    ...changes,
  };
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A small server that answers as a code host does, and the requests that it got. */
export async function codeHost(t: Test, answer: (url: URL) => Answer) {
  const requests: { readonly url: URL; readonly headers: IncomingMessage["headers"] }[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://host");
    requests.push({ url, headers: request.headers });
    const { status = 200, headers = {}, body = [] } = answer(url);
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
