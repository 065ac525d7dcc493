import type { PatchPerson } from "./patch-visitor.js";

const newline = 10;

/** Start and count of the old and the new side, and where the section begins. */
export type HunkHeader = [oldStart: number, oldCount: number, newStart: number, newCount: number, textFrom: number];

export function readHunkHeader(data: Buffer, from: number, end: number): HunkHeader | undefined {
  const numbers: HunkHeader = [0, 1, 0, 1, 0];
  let at = from + 3;
  for (const [index, mark] of [45, 43].entries()) {
    if (data[at++] !== mark) return undefined;
    let number = 0;
    let slot = index * 2;
    for (; at < end && data[at] !== 32; at++) {
      if (data[at] === 44) {
        numbers[slot++] = number;
        number = 0;
      } else if (data[at] >= 48 && data[at] <= 57 && number < 2 ** 32) number = number * 10 + data[at] - 48;
      else return undefined;
    }
    if (slot > index * 2 + 1) return undefined;
    numbers[slot] = number;
    at++;
  }
  if (data[at] !== 64 || data[at + 1] !== 64) return undefined;
  numbers[4] = Math.min(end, at + 3);
  return numbers;
}

export function startsWith(data: Buffer, from: number, end: number, wanted: Buffer): boolean {
  return end - from >= wanted.length && data.compare(wanted, 0, wanted.length, from, from + wanted.length) === 0;
}

/** `date` is `SECONDS ZONE`, or empty if the commit has none that git can read. */
export function readPerson(name: Buffer, email: Buffer, date: Buffer): PatchPerson {
  const [seconds = "", zone = ""] = date.toString("latin1").split(" ");
  const parsed = /^-?\d{1,20}$/.test(seconds) ? Number(seconds) : 0;
  return {
    name,
    email,
    seconds: Math.min(Math.max(parsed, -(2 ** 53)), 2 ** 53),
    zoneMinutes: readZone(zone),
  };
}

/** `+HHMM`; 0 if no place on earth has such a zone. */
function readZone(zone: string): number {
  if (!/^[+-]\d{1,5}$/.test(zone)) return 0;
  const digits = Number(zone.slice(1));
  const minutes = Math.floor(digits / 100) * 60 + (digits % 100);
  return minutes > 24 * 60 ? 0 : zone.startsWith("-") ? -minutes : minutes;
}

export function withoutNewlines(message: Buffer): Buffer {
  let end = message.length;
  while (end > 0 && message[end - 1] === newline) end--;
  return message.subarray(0, end);
}

/** A cut message does not end within a character. */
export function withoutPartOfCharacter(message: Buffer): Buffer {
  let end = message.length;
  for (let back = 0; back < 3 && end > 0 && (message[end - 1] & 0xc0) === 0x80; back++) end--;
  return message.subarray(0, end > 0 && message[end - 1] >= 0xc0 ? end - 1 : message.length);
}
