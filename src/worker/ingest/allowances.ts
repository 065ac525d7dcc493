/**
 * How long the thread may run without a beat: before its first file and between other steps, and for a file, where each
 * MiB of text adds time. A file of 1 MiB takes at most 0.05 s, a shard of 64 MiB 3 s; the rest allows for other load on
 * the machine.
 */
export const stepAllowanceMs = 60_000;
const fileAllowanceMs = 8_000;
const mebibyteAllowanceMs = 250;

export function timeAllowance(byteCount: number): number {
  return fileAllowanceMs + Math.ceil(byteCount / 2 ** 20) * mebibyteAllowanceMs;
}
