/** The house rules as one test. It reads the checkout that it is started in. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import t from "tap";
import { clientTypesText } from "../../scripts/client-types.js";
import { errorTable } from "../../src/base/errors.js";
import { metricTable } from "../../src/base/metrics.js";
import { benchRooms, layers, rooms, withLayerTable } from "../../scripts/layers.js";
import { findWebOperations, operationProblems, operationTypesText } from "../../scripts/web-operations.js";
import { openApiText } from "../../src/http/api/openapi.js";
import { optionTable, splitKey } from "../../src/daemon/config/options.js";
import { schemaText } from "../../src/graphql/execution/schema-document.js";

const layerOf = new Map(layers.map(({ folder, number }) => [folder, number]));

/** The one folder that imports each heavy package, or a few. */
const packageOwners: Readonly<Record<string, string | readonly string[]>> = {
  lmdb: "store",
  nodegit: "git",
  re2: "regexp",
  "uWebSockets.js": "http",
  piscina: "pool",
  // The console of the web pages knows the schema too.
  graphql: ["graphql", "web"],
  "graphql-jit": "graphql",
  "@node-rs/argon2": "account",
  "highlight.js": "worker",
  "hyparquet-writer": "worker",
  "@bufbuild/protobuf/wire": "scip",
  "@modelcontextprotocol/server": "mcp",
  "openid-client": "account",
  // Tokens of identity providers, and of GitHub Apps.
  jose: ["account", "codehost"],
  "nodemailer/lib/mail-composer": "notify",
  "nodemailer/lib/smtp-connection": "notify",
  pg: "database",
  aws4fetch: "objects",
};

/** What is started by name and not imported: the command, the daemon, files of threads and scripts. */
const isEntry = (path: string): boolean =>
  /^src\/(cli\/main|daemon\/main|worker\/[a-z-]*(worker|entry)|store\/store-probe)\.ts$/.test(path) ||
  path === "src/daemon/config/options-thread.ts" ||
  /^src\/web\/(main\.tsx|modules\.d\.ts)$/.test(path) ||
  !path.startsWith("src/");

/** The folders of src/web that every page builds on, bottom up; any other folder there is one page or a few. */
const webFoundation: readonly string[] = ["api", "ui", "route", "editor", "query", "finder", "shell"];

interface Ban {
  readonly pattern: RegExp;
  readonly instead: string;
  readonly allowedIn: RegExp;
}

const bans: readonly Ban[] = [
  {
    pattern: /\bBuffer\.allocUnsafe(Slow)?\(/,
    instead: "uninitializedBytes of base/bytes.ts",
    allowedIn: /^src\/base\/bytes\.ts$/,
  },
  {
    pattern: /\bset(Timeout|Interval)\(/,
    instead: "base/deadline.ts, and ui/delay.ts in the pages",
    allowedIn: /^src\/(base\/deadline\.ts|sync\/|web\/ui\/delay\.ts)/,
  },
  {
    pattern: /\.(inner|outer)HTML\b|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|new DOMParser/,
    instead: "elements with text, or parseHtml of web/ui/parse-html.ts",
    allowedIn: /^src\/web\/ui\/parse-html\.ts$/,
  },
  {
    pattern: /\b(fetch|EventSource|WebSocket|XMLHttpRequest)\(/,
    instead: "request of web/api/api-error.ts",
    allowedIn: /^src\/(?!web\/)|^src\/web\/api\//,
  },
  {
    pattern: /\bnew Error\(/,
    instead: "TrawlError with a code of base/errors.ts",
    allowedIn: /^src\/base\/errors\.ts$/,
  },
  {
    pattern: /\bDate\.now\(\)/,
    instead: "monotonicMs of base/deadline.ts for durations, new Date() for dates",
    allowedIn: /^$/,
  },
  {
    pattern: /\b(catalog\.repositories\(|catalog\.repository\(|catalog\.repositoryByName\(|catalog\.repositoryCount\b)/,
    instead: "catalog.repositoryTable(viewer), which hides what the viewer may not see",
    allowedIn: /^src\/(catalog|fleet|sync|daemon|cli\/check)\//,
  },
  {
    pattern: /\bcatalog\.(publish|flip|follow)\(/i,
    instead: "manifest.publish, which a fleet decides",
    allowedIn: /^src\/(catalog|fleet)\//,
  },
  {
    pattern: /^ {4,}get \w+\(\)|[{,] get \w+\(\)/m,
    instead:
      "a getter of a class: with one in an object literal, V8 makes a hidden class for each object, which keeps it alive",
    allowedIn: /^$/,
  },
  { pattern: /^\s*(export )?(const |declare )*enum /m, instead: "a union of constants", allowedIn: /^$/ },
  // Piscina calls the default export of a worker file.
  {
    pattern: /^export default /m,
    instead: "a named export",
    allowedIn: /^src\/worker\/[a-z-]*worker\.ts$/,
  },
];

/** Words that mark what is not finished; spelt so that this file does not hold them. */
const leftovers = new RegExp(
  ["FIX" + "ME", "TO" + "DO:", "\\.on" + "ly\\(", "console\\." + "log", "debug" + "ger;"].join("|"),
);

const blobBytesMax = 512 * 1024;

const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
  encoding: "utf8",
})
  .split("\0")
  .filter((path) => path !== "" && existsSync(path));
const typescript = tracked.filter((path) => /\.tsx?$/.test(path));
const sources = typescript.filter((path) => path.startsWith("src/"));
const markdown = tracked.filter((path) => path.endsWith(".md"));
const textOf = new Map(
  tracked.filter((path) => /\.(tsx?|mjs|md|json|jsonc)$/.test(path)).map((path) => [path, readFileSync(path, "utf8")]),
);

interface Import {
  readonly from: string;
  readonly specifier: string;
  /** The file in this checkout, or undefined for a package. */
  readonly to: string | undefined;
  readonly typeOnly: boolean;
  /** Loaded when it is first needed. */
  readonly isDynamic: boolean;
}

const imports: readonly Import[] = typescript.flatMap((from) => importsOf(from, textOf.get(from) ?? ""));

function importsOf(from: string, text: string): Import[] {
  const found: Import[] = [];
  const statement = /^(import|export)(\s+type)?\s[^;]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;
  for (const [whole, , type, named, bare, dynamic] of text.matchAll(statement)) {
    const specifier = named ?? bare ?? dynamic ?? "";
    const to = specifier.startsWith(".")
      ? findSource(normalize(join(dirname(from), specifier.replace(/\?.*$/, ""))))
      : undefined;
    const names = /\{([^}]*)\}/
      .exec(whole)?.[1]
      ?.split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
    const onlyTypes =
      names !== undefined && !/^import\s+\w/.test(whole) && names.every((name) => name.startsWith("type "));
    found.push({ from, specifier, to, typeOnly: type !== undefined || onlyTypes, isDynamic: dynamic !== undefined });
  }
  return found;
}

/** The file that an import of its compiled form means. */
function findSource(path: string): string {
  const source = path.replace(/\.js$/, ".ts");
  return existsSync(source) ? source : source.replace(/\.ts$/, existsSync(`${source}x`) ? ".tsx" : ".ts");
}

function folderOf(path: string): string {
  return path.split("/")[1] ?? "";
}

/** Files of src/ that are loaded when this one is, or also those that are loaded later. */
function reachableFrom(start: string, isLaterToo = true): Set<string> {
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const { from, to, typeOnly, isDynamic } of imports)
      if (from === path && to !== undefined && !typeOnly && (isLaterToo || !isDynamic)) visit(to);
  };
  visit(start);
  return seen;
}

t.test("a folder imports only from folders below it", async (t) => {
  for (const path of tracked.filter((path) => /^src\/[^/]+\//.test(path))) {
    if (!layerOf.has(folderOf(path))) t.fail(`${path}: folder ${folderOf(path)} has no number`);
  }
  for (const { from, to } of imports) {
    if (!from.startsWith("src/") || to === undefined) continue;
    if (!existsSync(to)) t.fail(`${from} imports ${to}, which is not there`);
    const [own, other] = [layerOf.get(folderOf(from)) ?? -1, layerOf.get(folderOf(to)) ?? Infinity];
    if (folderOf(from) !== folderOf(to) && other >= own) t.fail(`${from} (${own}) imports ${to} (${other})`);
  }
  t.ok(imports.length > 0);
});

t.test("a room imports only from rooms below it", async (t) => {
  const inSource = Object.entries(rooms).map(([folder, order]) => [`src/${folder}/`, order] as const);
  for (const [prefix, order] of [...inSource, ["native-bench/", benchRooms] as const]) {
    const roomOf = (path: string): string => path.slice(prefix.length).split("/").slice(0, -1)[0] ?? "";
    const rank = (path: string): number => (roomOf(path) === "" ? order.length : order.indexOf(roomOf(path)));
    const files = typescript.filter((path) => path.startsWith(prefix));
    for (const path of files) if (rank(path) < 0) t.fail(`${path}: its room stands in no order in scripts/layers.ts`);
    for (const room of order) if (!files.some((path) => roomOf(path) === room)) t.fail(`${prefix}${room} is empty`);
    for (const { from, to } of imports)
      if (from.startsWith(prefix) && to?.startsWith(prefix) === true && rank(to) > rank(from))
        t.fail(`${from} imports ${to}, which stands above it`);
    t.ok(files.length > order.length, prefix);
  }
});

t.test("a page imports from the foundation of the pages only", async (t) => {
  const partOf = (path: string): string => /^src\/web\/([^/]+)\//.exec(path)?.[1] ?? "";
  const rank = (part: string): number => (part === "" ? Infinity : (webFoundation.indexOf(part) + 99) % 99);
  const count = { seen: 0 };
  for (const { from, to } of imports) {
    if (!from.startsWith("src/web/") || to === undefined || !to.startsWith("src/web/")) continue;
    count.seen++;
    if (partOf(from) !== partOf(to) && rank(partOf(to)) >= rank(partOf(from))) t.fail(`${from} imports ${to}`);
  }
  for (const { from, to } of imports)
    if (to?.startsWith("src/web/") && /^src\/(?!web\/)/.test(from)) t.fail(`${from} imports ${to}`);
  t.ok(count.seen > 10);
});

t.test("what is pressed or read as soon as it is seen is not lost", async (t) => {
  // What runs in `useEffect` comes a frame later.
  const late = typescript.filter((path) => path.startsWith("src/web/") && /\buseEffect\(/.test(textOf.get(path) ?? ""));
  t.same(late, ["src/web/code/files/rendered/notebook-view.tsx", "src/web/editor/editor.tsx"], "use useLayoutEffect");
});

t.test("a style sheet of a page changes nothing on another page", (t) => {
  // A sheet that was loaded stays: a page that is opened from another one has the sheets of both.
  const partOf = (path: string): string => /^src\/web\/([^/]+)\//.exec(path)?.[1] ?? "";
  const users = new Map<string, Set<string>>();
  for (const path of typescript.filter((path) => path.startsWith("src/web/")))
    for (const [, names = ""] of (textOf.get(path) ?? "").matchAll(/\bclass(?:Name)?(?:=|: | = )\{?["`]([\w -]+)/g))
      for (const name of names.split(" ")) users.set(name, (users.get(name) ?? new Set()).add(partOf(path)));
  let count = 0;
  for (const sheet of tracked.filter((path) => path.startsWith("src/web/") && path.endsWith(".css"))) {
    const part = partOf(sheet);
    if (webFoundation.includes(part)) continue;
    const text = readFileSync(sheet, "utf8").replace(/\/\*[^*]*\*\//g, "");
    for (const [, selectors = ""] of text.matchAll(/([^{};]+)\{/g))
      for (const selector of selectors.split(",").filter((one) => one.includes("."))) {
        count++;
        const [, first = ""] = /\.([\w-]+)/.exec(selector) ?? [];
        const others = [...(users.get(first) ?? [])].filter((other) => other !== part && other !== "");
        if (others.length > 0) t.fail(`${sheet}: ${selector.trim()} also applies in ${others}: name what it is in`);
      }
  }
  t.ok(count > 100 && users.size > 100, `${count} selectors, ${users.size} classes`);
  t.end();
});

t.test("the GraphQL operations of the pages fit the schema", async (t) => {
  const operations = findWebOperations();
  t.ok(operations.length > 80, `${operations.length} operations`);
  t.same(operationProblems(schemaText(), operations), []);
  t.same(
    operations.filter(({ text }) => text === undefined).map(({ file }) => file),
    // They ask for a batch of files or entries at once.
    ["src/web/ui/token-reader.ts", "src/web/code/files/rendered/notebook-view.tsx"],
    "the others are constants",
  );
  const types = readFileSync("src/web/api/operation-types.ts", "utf8");
  t.equal(types, operationTypesText(schemaText(), operations), "make graphql writes their types");
});

t.test("the description of the HTTP interface is the one of the routes", async (t) => {
  t.equal(readFileSync("docs/openapi.json", "utf8"), openApiText(), "`make openapi` writes it");
  const types = readFileSync("clients/trawl-client/src/types.ts", "utf8");
  t.equal(types, clientTypesText(), "`make openapi` writes the types of the client");
  const page = textOf.get("docs/api-stability.md") ?? "";
  for (const code of Object.keys(errorTable))
    t.ok(page.includes(`| \`${code}\` |`), `${code} is in docs/api-stability.md`);
});

t.test("ARCHITECTURE.md shows the same table", async (t) => {
  const text = textOf.get("ARCHITECTURE.md") ?? "";
  t.equal(text, withLayerTable(text), "`make layers` writes it");
  for (const { folder } of layers) t.ok(existsSync(`src/${folder}`), folder);
});

t.test("no import cycles, including type imports", async (t) => {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) if (to !== undefined) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): void => {
    if (path.includes(file)) {
      t.fail([...path.slice(path.indexOf(file)), file].join(" -> "));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const other of next.get(file) ?? []) visit(other);
    path.pop();
    done.add(file);
  };
  for (const file of typescript) visit(file);
  t.ok(done.size >= typescript.length);
});

t.test("no file imports the entry files of threads", async (t) => {
  for (const { from, to } of imports) {
    if (!from.startsWith("src/") || to === undefined || folderOf(to) !== "worker") continue;
    if (folderOf(from) !== "worker") t.fail(`${from} imports ${to}`);
  }
  t.ok(sources.some((path) => folderOf(path) === "worker"));
});

t.test("one folder imports each heavy package", async (t) => {
  for (const { from, specifier } of imports) {
    const owner = packageOwners[specifier];
    if (owner !== undefined && from.startsWith("src/") && ![owner].flat().includes(folderOf(from))) {
      t.fail(`${from} imports ${specifier}, which belongs to src/${[owner].flat().join(" and src/")}`);
    }
  }
  t.pass();
});

t.test("the main thread does not load code that reads shards", async (t) => {
  const start = "src/daemon/main.ts";
  if (!existsSync(start)) return;
  const reached = reachableFrom(start);
  for (const path of reached) if (/^src\/(shard|eval|indexer)\//.test(path)) t.fail(`${start} loads ${path}`);
  t.ok(reached.size > 1, "it does load something");
});

t.test("a single host does not load what only a fleet needs", async (t) => {
  const reached = reachableFrom("src/daemon/daemon.ts", false);
  // The check of the configuration reads addresses.
  for (const path of reached)
    if (/^src\/(database|objects|fleet|search\/fleet)\/(?![a-z]+-address\.ts$)/.test(path)) t.fail(`it loads ${path}`);
  t.ok(reached.size > 300);
});

t.test("links and paths in the documentation exist", async (t) => {
  for (const path of markdown) {
    const text = (textOf.get(path) ?? "").replace(/^```[\s\S]*?^```/gm, "");
    for (const [, target = ""] of text.matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)) {
      if (!existsSync(join(dirname(path), target))) t.fail(`${path}: link to ${target}`);
    }
    // Reports of benchmark runs name files of corpora.
    if (path.startsWith("native-bench/runs/")) continue;
    for (const [target] of text.matchAll(/\bsrc\/[\w./-]*[\w-]/g)) {
      if (!existsSync(target)) t.fail(`${path}: ${target}`);
    }
  }
  t.pass();
});

t.test("no unfinished code", async (t) => {
  for (const path of tracked.filter((path) => /^(src|test|native-bench|scripts)\/.*\.ts$/.test(path))) {
    const found = leftovers.exec(textOf.get(path) ?? "");
    const isProgram = /^(native-bench|scripts)\//.test(path);
    if (found && !(isProgram && found[0].startsWith("console"))) t.fail(`${path}: ${found[0]}`);
  }
  t.pass();
});

t.test("banned calls", async (t) => {
  for (const path of sources) {
    const code = (textOf.get(path) ?? "").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    for (const { pattern, instead, allowedIn } of bans) {
      if (pattern.test(code) && !allowedIn.test(path)) t.fail(`${path}: ${pattern.source}; instead: ${instead}`);
    }
  }
  t.pass();
});

t.test("a function is named by what it does", async (t) => {
  for (const path of sources) {
    const code = (textOf.get(path) ?? "").replace(/\/\*[\s\S]*?\*\/|\/\/.*$|"[^"\n]*"/gm, "");
    const [, vague] = /^(?:export )?(?:async )?function\*? (\w+Of)\b/m.exec(code) ?? [];
    if (vague !== undefined && !/^(any|anyClause|requireOne)Of$/.test(vague))
      t.fail(`${path}: ${vague}; instead: a verb, as in parseX, findX or toX, or the noun alone`);
  }
  t.ok(sources.length > 0);
});

t.test("system headers come before the instructions of a file are changed", async (t) => {
  const folder = "src/native/kernel";
  const pathOf = (name: string): string => join(existsSync(join(folder, name)) ? folder : "src/native", name);
  const headersIn = (text: string): string[] => [...text.matchAll(/^#include <(.*)>$/gm)].map(([, name = ""]) => name);
  const found = (text: string, seen: Set<string>): string[] => {
    const own = [...text.matchAll(/^#include "(.*)"$/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => !seen.has(name));
    for (const name of own) seen.add(name);
    return [...headersIn(text), ...own.flatMap((name) => found(readFileSync(pathOf(name), "utf8"), seen))];
  };
  for (const name of ["loops-avx2.cc", "loops-avx512.cc"]) {
    const [before = "", after = ""] = readFileSync(join(folder, name), "utf8").split("#pragma GCC target");
    const missing = found(after, new Set()).filter((header) => !headersIn(before).includes(header));
    t.same(missing, [], `${name}: functions of other headers would be compiled for these instructions, or not at all`);
  }
});

t.test("file names, unused files and sizes", async (t) => {
  const imported = new Set(imports.map(({ to }) => to));
  for (const path of typescript) {
    if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.d)?\.tsx?$/.test(basename(path))) t.fail(`${path} is not in kebab case`);
    if (!isEntry(path) && !imported.has(path)) t.fail(`${path}: nothing imports it`);
  }
  for (const path of tracked) {
    if (/(^|\/)build\/|\.(o|so|node)$/.test(path)) t.fail(`${path} is the output of a build`);
    if (path !== "package-lock.json" && statSync(path).size > blobBytesMax)
      t.fail(`${path} is larger than ${blobBytesMax} bytes`);
  }
  t.pass();
});

t.test("options and metrics are documented", async (t) => {
  const sample = textOf.get("config/trawl.jsonc") ?? "";
  for (const [key, row] of Object.entries(optionTable)) {
    if (!sample.includes(`"${splitKey(key).name}":`)) t.fail(`config/trawl.jsonc lacks ${key}`);
    if (!/\.$/.test(row.description)) t.fail(`${key}: the description is a sentence`);
  }
  for (const { name, help, kind } of Object.values(metricTable)) {
    const isGood = kind === "counter" ? /^trawl_[a-z_]+_total$/ : /^trawl_[a-z_]+(?<!_total)$/;
    if (!isGood.test(name) || !/^[A-Z].*\.$/.test(help)) t.fail(`${name}: name or help`);
  }
  t.pass();
});

t.test("the checks have read the checkout", async (t) => {
  t.ok(sources.length >= 30, `${sources.length} files in src`);
  t.ok(imports.length >= 100, `${imports.length} imports`);
});
