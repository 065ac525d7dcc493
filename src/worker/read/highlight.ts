import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { TrawlError } from "../../base/errors.js";
import { escapeHtml } from "../../base/html.js";
import { detectLanguage } from "../../indexer/detect-language.js";
import { languageByName } from "../../model/language.js";
import type { HighlightedText, HighlightTexts, TextToHighlight } from "../../protocol/git-messages.js";
import type { ReadContext } from "./context.js";
import { createContext, Script } from "node:vm";
import { monotonicMs } from "../../base/deadline.js";

/**
 * Longer texts remain plain. The library processes 1 to 3 MB per second once warmed up, measured with TypeScript, JSON
 * and Markdown.
 */
const highlightedUnitsMax = 1_000_000;

/** Longer lines are mostly generated, and remain plain unless highlighting them is requested explicitly. */
const lineUnitsMax = 2_000;

/** Each text as lines of HTML, in the order of the request. */
export function answerHighlightTexts(
  { texts, patient }: HighlightTexts,
  { stop }: ReadContext,
): { readonly texts: readonly HighlightedText[] } {
  const time = new MarkupTime(patient);
  return {
    texts: texts.map((text) => {
      if (stop()) throw new TrawlError("cancelled", "highlighting was stopped");
      return highlightText(text, time);
    }),
  };
}

/**
 * A text as lines of HTML, without line ends; the number of lines is always that of the text. It remains plain if no
 * grammar is known, if the text is too long, or if `time` is over.
 */
export function highlightText({ text, path, language, longLines }: TextToHighlight, time: MarkupTime): HighlightedText {
  const plain = (aborted: boolean): HighlightedText => ({ lines: plainLines(text), aborted });
  const names = grammarNames(text, path, language);
  if (names.length === 0) return plain(false);
  if (text.length > highlightedUnitsMax || time.leftMs <= 0) return plain(true);
  const library = loadLibrary();
  const grammar = names.find((name) => library.getLanguage(name) !== undefined);
  if (grammar === undefined) return plain(false);
  const lines = splitLines(text);
  // Omitting a line usually does not change the highlighting of the surrounding lines; the omitted line remains plain.
  const shown = longLines ? lines : lines.map((line) => (line.length > lineUnitsMax ? "" : line));
  const html = withinTime(
    () => library.highlight(shown.join("\n"), { language: grammar, ignoreIllegals: true }).value,
    time,
  );
  const rows = html === undefined ? [] : linesOfHtml(html);
  if (rows.length !== lines.length) return plain(true);
  return { lines: rows.map((row, at) => (shown[at] === lines[at] ? row : escapeHtml(lines[at]))), aborted: false };
}

/** The HTML of code in a language that its name tells; undefined if it is not known. The caller limits the time. */
export function highlightCode(text: string, language: string): string | undefined {
  const library = loadLibrary();
  const grammar = grammarNames(text, "", language).find((name) => library.getLanguage(name) !== undefined);
  return grammar && library.highlight(text, { language: grammar, ignoreIllegals: true }).value;
}

/** Like `highlightText`, but without highlighting. */
export function plainLines(text: string): string[] {
  return splitLines(text).map(escapeHtml);
}

/** A line feed at the end does not start another line. */
function splitLines(text: string): string[] {
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Names by which the library may know the language, best first; none if the language is unknown. */
function grammarNames(text: string, path: string, language: string): string[] {
  const known =
    language === ""
      ? detectLanguage(path, Buffer.from(text.slice(0, headUnits)))
      : (languageByName(language) ?? detectLanguage(`_.${language}`, Buffer.alloc(0)));
  const name = (known?.name ?? language).toLowerCase();
  return name === ""
    ? []
    : [grammarOfLanguage.get(name) ?? name, name.replaceAll(" ", ""), language.toLowerCase()].filter(
        (candidate) => candidate !== "",
      );
}

const headUnits = 8192;

/** Languages that the library knows by another name, or whose grammar is similar enough. */
const grammarOfLanguage: ReadonlyMap<string, string> = new Map(
  Object.entries({
    shell: "bash",
    "protocol buffer": "protobuf",
    batchfile: "dos",
    "vim script": "vim",
    "emacs lisp": "lisp",
    "common lisp": "lisp",
    "jupyter notebook": "json",
    "json with comments": "json",
    json5: "json",
    "standard ml": "sml",
    "visual basic .net": "vbnet",
    "unix assembly": "x86asm",
    assembly: "x86asm",
    starlark: "python",
    cython: "python",
    "html+erb": "erb",
    vue: "xml",
    svelte: "xml",
    astro: "xml",
    jinja: "django",
    cuda: "cpp",
    "objective-c++": "objectivec",
    m4sugar: "bash",
    m4: "bash",
    toml: "ini",
    "git config": "ini",
    editorconfig: "ini",
    "linker script": "c",
    bitbake: "bash",
    mdx: "markdown",
  }),
);

/** The part of highlight.js that is used here; its own types would make browser types available everywhere. */
interface Highlighter {
  getLanguage(name: string): object | undefined;
  highlight(
    text: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ): { readonly value: string };
}

let loaded: Highlighter | undefined;

/**
 * Loaded at the first use: it takes 0.3 s and 8 MB in each thread. Must not be called for the first time while the time is limited: a
 * module whose loading is cut short stays half loaded.
 */
export function loadLibrary(): Highlighter {
  loaded ??= createRequire(import.meta.url)("highlight.js") as Highlighter;
  return loaded;
}

/** Splits HTML whose only tags are spans into lines: a span over several lines becomes one span on each. */
function linesOfHtml(html: string): string[] {
  const open: string[] = [];
  const lines: string[] = [];
  let line = "";
  let from = 0;
  for (const { 0: mark, index } of html.matchAll(marks)) {
    line += html.slice(from, index);
    from = index + mark.length;
    if (mark === "\n") {
      lines.push(line + "</span>".repeat(open.length));
      line = open.join("");
    } else {
      line += mark;
      if (mark === "</span>") open.pop();
      else open.push(mark);
    }
  }
  lines.push(line + html.slice(from));
  return lines;
}

const marks = /<span class="[^"]*">|<\/span>|\n/g;

/** Time limit for all texts of one task, because the thread does nothing else meanwhile. */
const hastyMs = 1_000;
const patientMs = 10_000;

/** How much time is left to convert texts to HTML. */
export class MarkupTime {
  leftMs: number;

  constructor(patient: boolean) {
    this.leftMs = patient ? patientMs : hastyMs;
  }
}

/** How often the watchdog's time is given for an attempt on a busy machine. */
const busyFactor = 4;

/**
 * The result of `work`, which calls a library whose regexps may run forever on hostile text; undefined if it times out. `time` is processor
 * time, but only the engine's own watchdog can end a loop in a regexp, and it counts elapsed time: work to which other processes left
 * less than half of a processor is tried once more, with more time.
 */
export function withinTime(work: () => string, time: MarkupTime): string | undefined {
  const givenMs = time.leftMs;
  for (const timeoutMs of [givenMs, busyFactor * givenMs]) {
    const startMs = processorMs();
    try {
      return callScript.runInContext(createContext({ work }), { timeout: Math.max(1, Math.ceil(timeoutMs)) }) as string;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    } finally {
      time.leftMs -= processorMs() - startMs;
    }
    if (time.leftMs < givenMs / 2) break;
  }
  time.leftMs = Math.min(time.leftMs, 0);
  return undefined;
}

/** Processor time that this thread has used; elapsed time where the kernel does not count it. */
function processorMs(): number {
  try {
    return parseProcessorMs(readFileSync("/proc/thread-self/schedstat", "latin1")) ?? monotonicMs();
  } catch {
    return monotonicMs();
  }
}

/** The first number is in nanoseconds (proc(5)), and 0 where the kernel does not count: this thread has run. */
export function parseProcessorMs(schedstat: string): number | undefined {
  const nanoseconds = Number(schedstat.split(" ", 1)[0]);
  return nanoseconds > 0 ? nanoseconds / 1e6 : undefined;
}

const callScript = new Script("work()");
