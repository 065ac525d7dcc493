import { fstatSync } from "node:fs";

/**
 * Whether a descriptor is connected to the systemd journal, which an environment variable of the service identifies.
 */
export function isJournal(descriptor: number, named: string | undefined = process.env["JOURNAL_STREAM"]): boolean {
  if (named === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor);
    return named === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/** Syslog priorities by numeric log level. */
const priorities: Readonly<Record<number, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 };

const errorLevel = 50;

/**
 * Formats text for the journal, which treats each line as a separate message, and a number in front of it as its
 * priority; see sd-daemon(3).
 */
export function withPriority(text: string, level = errorLevel): string {
  const prefix = `<${priorities[level] ?? 6}>`;
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `${prefix}${line}\n`)
    .join("");
}
