/** The document and the files of the web pages, as a browser asks for them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { pino } from "pino";
import t, { type Test } from "tap";
import { silentLog } from "../../../src/base/log.js";
import { addRoutes } from "../../../src/http/routes/routes.js";
import { loadWebFiles, type WebFiles } from "../../../src/http/routes/web-files.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { anonymous, type Viewer } from "../../../src/model/viewer.js";
import { hollowServices } from "../../support/http-front.js";

const script = `export const text = "${"pages ".repeat(200)}";`;

/** A folder like the one that `make build` writes. */
function folderOfPages(folder: string): string {
  mkdirSync(folder, { recursive: true });
  const manifest = {
    "index.html": { file: "index-1.js" },
    "search/search-page.tsx": { file: "search-2.js", imports: ["index.html", "_shared.js"], css: ["search-3.css"] },
    "_shared.js": { file: "shared-4.js" },
  };
  const document =
    '<!doctype html>\n<html lang="en">\n<head><meta name="trawl-viewer" content="{}" /><script src="/.assets/index-1.js"></script></head><body></body></html>';
  const files: Readonly<Record<string, string | Uint8Array>> = {
    "index.html": document,
    "manifest.json": JSON.stringify(manifest),
    "index-1.js": script,
    "index-1.js.gz": gzipSync(script),
    "index-1.js.br": brotliCompressSync(script),
    "search-3.css": "main{}",
    ".built": "",
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

async function serve(t: Test, web: WebFiles | undefined, viewer: Viewer = anonymous): Promise<string> {
  const server = new HttpServer(silentLog(), () => undefined);
  addRoutes(server, {
    ...hollowServices({}, true),
    authenticator: { authenticate: () => ({ kind: "viewer", viewer, watch: () => () => undefined }) },
    web,
  });
  const port = server.listen("127.0.0.1", 0, () => undefined);
  t.teardown(() => server.stop(0));
  return `http://127.0.0.1:${port}`;
}

t.test("a document", async (t) => {
  const web = loadWebFiles(folderOfPages(t.testdir()), silentLog());
  const name = `<script>"'&`;
  const url = await serve(t, web, { ...anonymous, name });
  const response = await fetch(`${url}/search?q=x`, { headers: { Cookie: "a=b; trawl-theme=dark" } });
  const text = await response.text();
  t.equal(response.status, 200);
  t.match(response.headers.get("content-type"), "text/html");
  const policy = response.headers.get("content-security-policy") ?? "";
  t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
  t.notMatch(policy, /unsafe|sandbox|\*|http/);
  t.equal(response.headers.get("x-frame-options"), "DENY");
  t.match(text, /<html lang="en" data-theme="dark">/);
  t.notMatch(text, /<script>/, "a name is text");
  t.equal(text.split("index-1.js").length, 2, "named once");
  t.match(text, /content="\{&#34;name&#34;:&#34;&lt;script&gt;/);
  for (const file of ["search-2.js", "shared-4.js", "search-3.css"]) t.match(text, `/.assets/${file}`);
  const odd = await fetch(`${url}/search`, { headers: { Cookie: 'trawl-theme="><script>' } });
  t.match(await odd.text(), /<html lang="en">/, "only known themes");
});

t.test("what no page has is 404, with a document for browsers", async (t) => {
  const url = await serve(t, loadWebFiles(folderOfPages(t.testdir()), silentLog()));
  for (const [path, status] of [
    ["/site-admin", 200],
    ["/site-admin/nosuch", 404],
    ["/settings/nosuch", 404],
    ["/code/-/nosuch", 404],
  ] as const)
    for (const [accept, type] of [
      ["text/html", "text/html"],
      ["*/*", "text/plain"],
    ] as const) {
      const response = await fetch(`${url}${path}`, { headers: { Accept: accept } });
      t.match([response.status, response.headers.get("content-type")], [status, type], `${path} ${accept}`);
    }
});

t.test("files are compressed and never change", async (t) => {
  const url = await serve(t, loadWebFiles(folderOfPages(t.testdir()), silentLog()));
  for (const [accepted, encoding] of [
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip;q=0.5", "gzip"],
    ["identity", null],
  ] as const) {
    const response = await fetch(`${url}/.assets/index-1.js`, { headers: { "Accept-Encoding": accepted } });
    t.equal(response.headers.get("content-encoding"), encoding, accepted);
    t.equal(await response.text(), script);
    t.match(response.headers.get("cache-control"), /immutable/);
    t.match(response.headers.get("content-type"), "text/javascript");
    t.equal(response.headers.get("vary"), "Accept-Encoding");
  }
  for (const name of ["manifest.json", "index.html", "none.js", "..%2Findex.html", "", ".built"])
    t.equal((await fetch(`${url}/.assets/${name}`)).status, 404, name);
  t.equal((await fetch(`${url}/.assets/index-1.js`, { method: "HEAD" })).status, 200);
});

t.test("without the folder the daemon says so", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const web = loadWebFiles(join(t.testdir(), "none"), log);
  t.equal(web, undefined);
  t.match(lines.join(""), /the web pages cannot be shown.*make build/);
  const url = await serve(t, web);
  const response = await fetch(`${url}/`);
  t.equal(response.status, 200);
  t.match(await response.text(), /web pages are missing/);
  t.match(response.headers.get("content-security-policy"), /sandbox/);
  t.equal((await fetch(`${url}/.assets/index-1.js`)).status, 404);
});
