import type { ProcessLimits } from "../../native/process/process.js";

/** Messages of git and the C library for failed allocations. Each is a plain text. */
const outOfMemoryTexts = [
  "out of memory",
  "memory exhausted",
  "cannot allocate memory",
  "unable to create thread",
  "failed to allocate",
  "virtual memory exhausted",
  // Messages of xdiff and zlib for the same.
  "unable to generate diff",
  "zlib: out of memory",
  "inflateinit: out of memory",
];

/** How git reports a child process that was killed; 9 is the signal that the kernel sends after 24. Linux numbers. */
const diedOf = {
  cpu: ["died of signal 24", "killed by signal 24"],
  file: ["died of signal 25", "killed by signal 25"],
};

/**
 * Which limit ended git, as the end of a sentence that begins with git's name, with a remedy. Null if git ended for
 * another reason, as far as its signal and its last messages (`errorText`) reveal.
 */
export function limitHit(signal: string | null, errorText: string, limits: ProcessLimits): string | null {
  const text = errorText.toLowerCase();
  const says = (parts: readonly string[]): boolean => parts.some((part) => text.includes(part));
  if (signal === "SIGXCPU" || says(diedOf.cpu)) {
    return `used more than ${limits.cpuSecondsMax} s of CPU time; request less history or fewer files`;
  }
  if (signal === "SIGXFSZ" || says(diedOf.file)) {
    return `was writing a file of more than ${limits.fileBytesMax} bytes; raise git.maxFetchBytes if the repository is that large`;
  }
  if (says(outOfMemoryTexts)) {
    return `needed more than ${Math.floor(limits.dataBytesMax / (1 << 20))} MiB of memory; request less, or raise git.maxMemoryBytes if a fetch needs it`;
  }
  return null;
}
