import { ended, start } from "../system/processes.js";

const newline = 10;
const timeoutMs = 3_600_000;

/** Bytes of all changed lines of a history, without their signs, and of the distinct ones. */
export async function measureDistinctLines(
  path: string,
): Promise<{ readonly bytes: number; readonly distinctBytes: number }> {
  const args = ["-C", path, "log", "-p", "-U0", "--no-renames", "--no-textconv", "--no-ext-diff", "--format="];
  const child = start("git", args, { stdio: ["ignore", "pipe", "ignore"] });
  const code = ended(child, timeoutMs);
  const known = new Set<number>();
  let [bytes, distinctBytes] = [0, 0];
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of child.stdout as AsyncIterable<Buffer>) {
    const data = rest.length === 0 ? part : Buffer.concat([rest, part]);
    let from = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, from)) {
      if (isChanged(data, from)) {
        bytes += end - from;
        const count = known.size;
        known.add(hashLine(data, from + 1, end));
        if (known.size > count) distinctBytes += end - from;
      }
      from = end + 1;
    }
    rest = data.subarray(from);
  }
  await code;
  return { bytes, distinctBytes };
}

/** A line of a change, rather than a name of its file. */
function isChanged(data: Buffer, from: number): boolean {
  const sign = data[from];
  return (sign === 43 || sign === 45) && !(data[from + 1] === sign && data[from + 2] === sign && data[from + 3] === 32);
}

/** 53 bits: among ten million lines, a collision is unlikely. */
function hashLine(data: Buffer, from: number, to: number): number {
  let [a, b] = [-2128831035, 5381];
  for (let at = from; at < to; at++) {
    a = Math.imul(a ^ (data[at] ?? 0), 16777619);
    b = Math.imul(b, 33) ^ (data[at] ?? 0);
  }
  return (a >>> 0) * 2 ** 21 + ((b ^ (b >>> 11)) & 0x1fffff);
}
