import { createRequire } from "node:module";
import { destination, pino, type DestinationStream, type Logger } from "pino";
import type Pretty from "pino-pretty";
import { isJournal, withPriority } from "./journal.js";

/** Structured log: fields first, then the sentence, as in `log.warn({ repository }, "fetch failed")`. */
export type Log = Logger;

/** Levels that the `log.level` option accepts, in increasing severity. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Formats that the `log.format` option accepts. */
export const logFormats = ["auto", "text", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

/** Loaded where lines are for people: it takes a tenth of the time in which a daemon starts. */
const loadPretty = (): typeof Pretty => createRequire(import.meta.url)("pino-pretty") as typeof Pretty;

const standardError = 2;
const prettyOptions = { ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" } as const;

/** The journal records time, process and priority of each line itself. */
const journalOptions = { colorize: false, singleLine: true, ignore: "pid,hostname,time,level" } as const;

/**
 * The log of a process, on standard error. With `auto`, it writes readable lines to a terminal or the systemd journal,
 * and JSON lines elsewhere.
 *
 * Lines are written synchronously. The daemon logs at most a few lines per second, and the line before a crash is the
 * most important one.
 */
export function createLog(level: LogLevel, format: LogFormat = "auto", toJournal = isJournal(standardError)): Log {
  return pino(
    { level, base: { pid: process.pid }, timestamp: () => `,"time":"${new Date().toISOString()}"` },
    stream(format, toJournal),
  );
}

function stream(format: LogFormat, toJournal: boolean): DestinationStream {
  if (toJournal) return journalStream(format);
  const isText = format === "text" || (format === "auto" && process.stderr.isTTY);
  return isText
    ? loadPretty()({ destination: standardError, sync: true, ...prettyOptions })
    : destination({ dest: standardError, sync: true });
}

function journalStream(format: LogFormat): DestinationStream {
  const out = destination({ dest: standardError, sync: true });
  const readable = format === "json" ? String : loadPretty().prettyFactory(journalOptions);
  return {
    // Makes pino set `lastLevel` to the level of each line.
    [Symbol.for("pino.metadata")]: true,
    lastLevel: 0,
    write(line: string) {
      out.write(withPriority(readable(line), this.lastLevel));
    },
  } as DestinationStream & { lastLevel: number };
}

/** A log that discards everything, for tests and for code used without a daemon. */
export function silentLog(): Log {
  return pino({ level: "silent" });
}
