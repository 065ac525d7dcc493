import { join } from "node:path";
import type { Browser } from "playwright-core";
import { openCorpus } from "../corpus/corpus.js";
import { makeRepository } from "../corpus/repositories.js";
import {
  delayP98,
  measureFile,
  measureFinder,
  measureFirstResult,
  measureHover,
  measureLoad,
  measureMany,
  missingBrowser,
  openBrowser,
} from "../peers/web-page-figures.js";
import type { Results } from "../report/results.js";
import { grouped } from "../report/numbers.js";
import { startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** The web pages in Debian's chromium. */
export const webSuite: Suite = { name: "web", title: "The web pages in a browser", measure };

const subject = "chromium";
const lineCount = 20_000;
const fileRepository = "example.org/file";

/** The number of matches of this is in the name of the figure; interactions are measured with fewer. */
const full = {
  corpus: "linux",
  many: "return",
  some: "kmalloc",
  files: ["kernel/fork.c", "mm/slub.c", "fs/namei.c", "net/ipv4/tcp_input.c", "kernel/sched/core.c"],
  typed: ["schedcore", "tcpinput", "makefile", "e1000main", "readme"],
};
const quick = { corpus: "webpack", many: "return", some: "module", files: ["lib/Compiler.js"], typed: ["packagejson"] };

/** Lines of the files at which the pointer visits names: the first ones warm up. */
const hoveredLines = [300, 700, 1100, 1500];

/** The page of a person: what is loaded, how soon something is seen, and how it behaves with many results. */
async function measure(context: SuiteContext, results: Results): Promise<void> {
  const browser = await openBrowser();
  if (browser === undefined) {
    results.note(`The web pages are not measured: ${missingBrowser}.`);
    return;
  }
  try {
    await measurePages(browser, context, results);
  } finally {
    await browser.close();
  }
}

async function measurePages(browser: Browser, context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, rounds, progress } = context;
  const { corpus: name, many, some, files, typed } = isQuick ? quick : full;
  const corpus = await openCorpus(name, context);
  const trawl = await startDaemon(context, "web-data");
  progress(`indexing ${name}`);
  await trawl.add(corpus.name, corpus.path, progress);
  await trawl.add(fileRepository, await makeLongFile(context.workFolder), progress);
  await trawl.waitForSymbols();
  progress("loading pages");
  const load = await measureLoad(browser, trawl.url, rounds);
  const tasks = {
    script: "JavaScript of the search page, gzip",
    load: "first load of /search, cold cache, to the first paint",
    first: `Enter to the first painted result: ${some}`,
    hover: `pointer on a name to the painted card with its definition, ${name}`,
    finder: `key to the painted list of the finder, ${name}`,
    file: `file of ${grouped(lineCount)} lines: open to readable`,
    delay: `interaction delay with the results of ${some}, p98`,
    heap: `heap of the tab after all results of ${many}`,
    elements: `elements in the document with all results of ${many}`,
  };
  results.list("The web pages");
  results.less(tasks.script, subject, "KiB", load.scriptBytes / 1024);
  results.less(tasks.load, subject, "ms", load.paintMs);
  results.less(tasks.first, subject, "ms", await measureFirstResult(browser, trawl.url, some, rounds));
  const file = `${trawl.url}/${fileRepository}/-/blob/long.c`;
  results.less(tasks.file, subject, "ms", await measureFile(browser, file, rounds));
  progress("names and the finder");
  const at = (line: number): string[] => files.map((path) => `${trawl.url}/${corpus.name}/-/blob/${path}?L${line}`);
  const [warming = 0, ...lines] = hoveredLines;
  await measureHover(browser, at(warming));
  const hovered = await measureHover(browser, lines.flatMap(at));
  results.less(tasks.hover, subject, "ms", hovered.shownMs);
  results.less(tasks.finder, subject, "ms", await measureFinder(browser, `${trawl.url}/${corpus.name}`, typed));
  progress("many results");
  const few = await measureMany(browser, trawl.url, some, async () => undefined);
  results.less(tasks.delay, subject, "ms", delayP98(few));
  const all = await measureMany(browser, trawl.url, many, async () => undefined);
  results.less(tasks.heap, subject, "MB", all.heapBytes / 1e6);
  results.less(tasks.elements, subject, "elements", all.elementCount);
  await trawl.stop();
  results.note(
    `chromium ${browser.version()}, headless, beside the daemon; a page is opened when the new window is at rest. ${some}: ${few.status}. ${many}: ${all.status}.`,
    `${hovered.shownMs.length} names had a card, and ${hovered.unknownCount} had no definition. The finder is measured for each letter of ${typed.join(", ")}.`,
    "A delay below 16 ms counts as 16 ms, because browsers report no shorter ones.",
  );
  const limits = {
    script: [60, 30],
    first: [80, 50],
    hover: [60, 30],
    finder: [50, 25],
    delay: [100, 50],
    heap: [250, 150],
    file: [300, 150],
    load: [400, 200],
  } as const;
  for (const [name, atMost] of Object.entries(limits)) {
    const task = tasks[name as keyof typeof limits];
    results.targets({ what: task, of: [task, subject], atMost });
  }
}

async function makeLongFile(workFolder: string): Promise<string> {
  const folder = join(workFolder, "web-file.git");
  const lines = Array.from({ length: lineCount }, (_, at) => `static int value_${at} = ${at}; /* line ${at + 1} */\n`);
  await makeRepository(folder, [{ path: "long.c", text: Buffer.from(lines.join("")) }]);
  return folder;
}
