import type { ProcessLimits } from "../../native/process/process.js";

/** What git and the C library write when memory is refused. Each is a plain text. */
const outOfMemoryTexts = [
  "out of memory",
  "memory exhausted",
  "cannot allocate memory",
  "unable to create thread",
  "failed to allocate",
  "virtual memory exhausted",
  // What xdiff and zlib make of it.
  "unable to generate diff",
  "zlib: out of memory",
  "inflateinit: out of memory",
];

/** How git tells of a process of its own that was killed; 9 is the kernel's last word after 24. Linux numbers. */
const diedOf = {
  cpu: ["died of signal 24", "killed by signal 24"],
  file: ["died of signal 25", "killed by signal 25"],
};

/**
 * Which limit ended git, as the end of a sentence that begins with git's name, with what to do about it. Null when git
 * ended for another reason, as far as its signal and its last words (`errorText`) tell.
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
