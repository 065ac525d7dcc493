import { errorMessage } from "../../base/errors.js";
import { sleep } from "../../base/deadline.js";
import { colour, createStyle } from "../search/terminal-style.js";
import { Output, visible } from "../terminal/output.js";
import type { Sample, SampleSource } from "./samples.js";
import { topPage, type TopLine } from "./top-page.js";

const defaultColumns = 80;
const defaultRows = 24;

/** Prints one page, with averages since the start. */
export async function printOnce(source: SampleSource): Promise<void> {
  const output = new Output(process.stdout);
  const columns = process.stdout.columns ?? defaultColumns;
  const page = { before: undefined, now: await source(), timeSeconds: unixSeconds(), columns, rows: Infinity };
  await output.write(
    topPage(page)
      .map(({ text }) => `${text.trimEnd()}\n`)
      .join(""),
  );
  await output.finish();
}

/** Another screen, without a cursor and without wrapped lines, from which the terminal returns to what it showed before. */
const beginScreen = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const endScreen = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const toTop = "\u001b[H";
const clearLine = "\u001b[K";
const clearRest = "\u001b[J";

const endKeys: ReadonlySet<string> = new Set(["q", "Q", "\u0003", "\u001b", "\u0004"]);

/**
 * Shows pages until a key is pressed or a signal arrives. A daemon that does not answer may be restarting: the last page
 * stays, with the error. If it does not answer at first, the error is thrown.
 */
export async function showTop(source: SampleSource, intervalSeconds: number): Promise<void> {
  const style = createStyle(!process.env["NO_COLOR"], undefined);
  const ended = new AbortController();
  const end = (): void => ended.abort();
  let [before, now]: [Sample | undefined, Sample] = [undefined, await source()];
  let problem = "";
  const draw = (): void => {
    const { columns = defaultColumns, rows = defaultRows } = process.stdout;
    const page = topPage({ before, now, timeSeconds: unixSeconds(), columns, rows: rows - 1 });
    const last: TopLine =
      problem === ""
        ? { text: "q: quit", kind: "plain" }
        : { text: visible(problem).slice(0, columns), kind: "problem" };
    const lines = [...page.slice(0, rows - 1), last];
    const painted = lines.map((line) => `${paint(style.paint, line)}${clearLine}`);
    process.stdout.write(`${toTop}${painted.join("\r\n")}${clearRest}`);
  };
  const onKey = (key: Buffer): void => {
    if (endKeys.has(key.toString())) end();
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, end);
  process.stdin.setRawMode(true).resume().on("data", onKey);
  process.stdout.on("resize", draw).write(beginScreen);
  try {
    draw();
    while (!ended.signal.aborted) {
      await sleep(intervalSeconds * 1000, ended.signal);
      if (ended.signal.aborted) break;
      try {
        const next = await source();
        [before, now, problem] = [now, next, ""];
      } catch (error) {
        problem = errorMessage(error).split("\n")[0] ?? "";
      }
      draw();
    }
  } finally {
    process.stdout.off("resize", draw).write(endScreen);
    process.stdin.off("data", onKey).setRawMode(false).pause();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, end);
  }
}

function paint(paintText: (code: string, text: string) => string, { text, kind }: TopLine): string {
  if (kind === "plain") return text;
  return paintText(kind === "heading" ? colour.heading : colour.problem, text);
}

function unixSeconds(): number {
  return new Date().getTime() / 1000;
}
