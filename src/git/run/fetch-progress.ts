import { monotonicMs } from "../../base/deadline.js";

/** The progress of a fetch, as reported by git. */
export interface FetchProgress {
  /** For example `Receiving objects`. */
  readonly phase: string;
  /** 0 to 100; null if git only counts. */
  readonly percent: number | null;
  /** The count of the phase. */
  readonly count: number;
  /** Whether it was reported by the remote: then it may be false. */
  readonly isRemote: boolean;
}

/** Minimum interval between progress reports within one phase. */
const periodMs = 200;

/**
 * Returns a function that parses lines of git's standard error and reports progress: each new phase immediately, then 5
 * times a second.
 */
export function progressReader(listener: (progress: FetchProgress) => void): (line: string) => void {
  let phase = "";
  let reportedMs = 0;
  return (line) => {
    const progress = parseProgress(line);
    if (progress === null) return;
    const nowMs = monotonicMs();
    if (progress.phase === phase && progress.percent !== 100 && nowMs - reportedMs < periodMs) return;
    phase = progress.phase;
    reportedMs = nowMs;
    listener(progress);
  };
}

/** Parses `remote: Counting objects:  40% (4/10)` or `Enumerating objects: 12, done.`; null for any other line. */
export function parseProgress(line: string): FetchProgress | null {
  const parts = /^(remote: )?([A-Z][A-Za-z ]{0,80}): {1,4}(?:(\d{1,3})% \()?(\d{1,15})/.exec(line);
  if (parts === null) return null;
  const [, remote, phase = "", percent, count = ""] = parts;
  return {
    phase,
    percent: percent === undefined ? null : Number(percent),
    count: Number(count),
    isRemote: remote !== undefined,
  };
}
