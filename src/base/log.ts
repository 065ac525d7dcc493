import { destination, pino, type Logger } from "pino";
import pretty from "pino-pretty";

/** Structured log: fields first, then the sentence, as in `log.warn({ repository }, "fetch failed")`. */
export type Log = Logger;

/** Levels that the `log.level` option accepts, loudest last. */
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const standardError = 2;

/**
 * The log of a process, on standard error: JSON lines, or readable lines when that is a terminal.
 *
 * Lines are written synchronously. The daemon logs a few lines a second at most, and the line before a crash is the
 * one that matters.
 */
export function createLog(level: LogLevel): Log {
  const stream = process.stderr.isTTY
    ? pretty({ destination: standardError, sync: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" })
    : destination({ dest: standardError, sync: true });
  return pino({ level, base: { pid: process.pid }, timestamp: () => `,"time":"${new Date().toISOString()}"` }, stream);
}

/** A log that keeps nothing, for tests and for code that is used without a daemon. */
export function silentLog(): Log {
  return pino({ level: "silent" });
}
