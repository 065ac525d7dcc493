import { readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { type WebPage, webPages } from "../../model/web-page.js";

/** The folder that `make build` writes, beside the compiled program. */
export const webFolder = fileURLToPath(new URL("../../../web", import.meta.url));

/** Far more than all files of the pages, in their three forms. */
const filesBytesMax = 64 << 20;

const typeOfExtension: ReadonlyMap<string, string> = new Map([
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".json", "application/json"],
  [".png", "image/png"],
  [".ttf", "font/ttf"],
  [".woff2", "font/woff2"],
]);

/** A file of the web pages, as it is and compressed; its name changes with its content. */
export interface WebFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly gzip: Uint8Array | undefined;
  readonly brotli: Uint8Array | undefined;
}

/** The files of the web pages in memory. */
export interface WebFiles {
  /** The document of every page. */
  readonly document: string;
  /** Undefined if there is no such file. */
  find(name: string): WebFile | undefined;
  /** The scripts and style sheets that a page loads besides those named in the document. */
  filesOf(page: WebPage): readonly string[];
}

/** Reads the folder. Undefined if it is missing or unusable, which is logged: everything but the pages works without. */
export function loadWebFiles(folder: string, log: Log): WebFiles | undefined {
  try {
    return readWebFiles(folder);
  } catch (error) {
    log.warn(`the web pages cannot be shown: ${errorMessage(error)}; "make build" writes them to ${folder}`);
    return undefined;
  }
}

function readWebFiles(folder: string): WebFiles {
  const names = readdirSync(folder);
  const byteCount = names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  if (byteCount > filesBytesMax)
    throw new TrawlError("bad-config", `${folder} holds ${byteCount} bytes, more than ${filesBytesMax}`);
  const read = (name: string): Uint8Array | undefined =>
    names.includes(name) ? readFileSync(join(folder, name)) : undefined;
  const files = new Map<string, WebFile>();
  for (const name of names) {
    const type = typeOfExtension.get(extname(name));
    const bytes = type === undefined || name === manifestName ? undefined : read(name);
    if (type === undefined || bytes === undefined) continue;
    files.set(name, { type, bytes, gzip: read(`${name}.gz`), brotli: read(`${name}.br`) });
  }
  const manifest = JSON.parse(readFileSync(join(folder, manifestName), "utf8")) as Manifest;
  const document = readFileSync(join(folder, "index.html"), "utf8");
  const filesOf = new Map<string, readonly string[]>();
  for (const { module } of webPages)
    filesOf.set(
      module,
      collectFiles(manifest, module).filter((file) => !document.includes(file)),
    );
  return { document, find: (name) => files.get(name), filesOf: ({ module }) => filesOf.get(module) ?? [] };
}

const manifestName = "manifest.json";

/** The manifest that Vite writes: what each module became. */
type Manifest = Readonly<Record<string, ManifestEntry>>;

interface ManifestEntry {
  readonly file: string;
  /** Keys of the manifest. */
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

function collectFiles(manifest: Manifest, module: string): readonly string[] {
  const seen = new Set<string>();
  const found = new Set<string>();
  const visit = (key: string): void => {
    const entry = manifest[key];
    if (entry === undefined || seen.has(key)) return;
    seen.add(key);
    for (const file of [entry.file, ...(entry.css ?? [])]) found.add(file);
    for (const next of entry.imports ?? []) visit(next);
  };
  visit(module);
  return [...found];
}
