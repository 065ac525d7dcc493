/**
 * How long the thread may go without a beat: before its first file and between other steps, and at a file, to which
 * each MiB of text adds. A file of a MiB takes 0.05 s at most, a shard of 64 MiB 3 s; the rest is for a machine with
 * other work.
 */
export const stepAllowanceMs = 60_000;
const fileAllowanceMs = 8_000;
const mebibyteAllowanceMs = 250;

export function timeAllowance(byteCount: number): number {
  return fileAllowanceMs + Math.ceil(byteCount / 2 ** 20) * mebibyteAllowanceMs;
}
