import { fstatSync } from "node:fs";

/** Whether a descriptor leads to the journal of systemd, which names it so in the environment of a service. */
export function isJournal(descriptor: number, named: string | undefined = process.env["JOURNAL_STREAM"]): boolean {
  if (named === undefined) return false;
  try {
    const { dev, ino } = fstatSync(descriptor);
    return named === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/** Priorities of syslog, by the number that a level of the log has. */
const priorities: Readonly<Record<number, number>> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 };

const errorLevel = 50;

/**
 * Text for the journal: it takes each line for a message of its own, and the number in front of it for its priority, as
 * in sd-daemon(3).
 */
export function withPriority(text: string, level = errorLevel): string {
  const prefix = `<${priorities[level] ?? 6}>`;
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `${prefix}${line}\n`)
    .join("");
}
