/** Why the content of a document is not indexed, or not as text. Such a document is still found by its path. */
export const skipReasons = {
  none: { code: 0, explanation: "indexed" },
  binary: { code: 1, explanation: "contains a NUL byte among its first 8,000" },
  "too-large": { code: 2, explanation: "is larger than index.maxFileBytes" },
  "too-many-trigrams": { code: 3, explanation: "has more distinct trigrams than index.maxTrigramCount" },
  "not-regular": { code: 4, explanation: "is a symbolic link or a submodule" },
  missing: { code: 5, explanation: "is not in the mirror's object store" },
  quarantined: { code: 6, explanation: "took too much time or memory to index" },
  /** Not a reason: the document has its text, in the bytes of the file. */
  "not-decoded": { code: 7, explanation: "is not UTF-8 and its encoding is not certain: it is searched byte by byte" },
  ignored: { code: 8, explanation: "is left out by .sourcegraph/ignore of its commit" },
  lfs: { code: 9, explanation: "is in Git LFS, and its contents are not here" },
  submodule: { code: 10, explanation: "is a submodule whose contents are not in the mirror" },
} as const;

export type SkipReason = keyof typeof skipReasons;

const names = Object.keys(skipReasons) as SkipReason[];

/** Whether a document has a text. */
export function hasText(reason: SkipReason): boolean {
  return reason === "none" || reason === "not-decoded";
}

/** Whether a document is a file, and no link or submodule. */
export function isFileReason(reason: SkipReason): boolean {
  return reason !== "not-regular" && reason !== "submodule";
}

export function skipReasonFromCode(code: number): SkipReason {
  return names[code] ?? "none";
}
