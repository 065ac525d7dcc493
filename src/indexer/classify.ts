import { isUtf8 } from "node:buffer";
import type { Kernel } from "../native/kernel/kernel.js";
import type { SkipReason } from "../model/skip-reason.js";
import { compileRegexp } from "../regexp/match/matcher.js";
import { escapeRegexp } from "../base/text.js";
import { textOfBlob } from "./encoding/blob-text.js";
import { detectLanguage } from "./detect-language.js";

type PathTest = (path: Buffer) => boolean;

/** Limits that decide whether a document's content is indexed. */
export interface ContentLimits {
  readonly fileBytesMax: number;
  /** Matches paths to which `fileBytesMax` does not apply. */
  readonly largeFiles: PathTest | undefined;
  readonly trigramCountMax: number;
}

/** The limits from the configured options. */
export function contentLimitsFor(options: {
  readonly fileBytesMax: number;
  readonly largeFiles: readonly string[];
  readonly trigramCountMax: number;
}): ContentLimits {
  return { ...options, largeFiles: globTest(options.largeFiles) };
}

/** A smaller content cannot have more trigrams than any sensible limit. */
export const trigramCheckBytesMin = 100_000;

/** Up to this many blobs are read by the thread itself, which takes less time than the start of git. */
export const ownReadsMax = 128;

/** A text as it is indexed. */
export interface IndexedText {
  /** Empty if it is not indexed. */
  readonly text: Buffer;
  readonly skipReason: SkipReason;
}

/** The text of a blob, or why it is not indexed. */
export function textToIndex(blob: Buffer, path: Buffer, limits: ContentLimits, kernel: Kernel): IndexedText {
  if (isTooLarge(blob.length, path, limits)) return { text: noBytes, skipReason: "too-large" };
  const { kind, text } = textOfBlob(blob);
  if (kind === "binary") return { text, skipReason: "binary" };
  if (hasTooManyTrigrams(text, limits, kernel)) return { text: noBytes, skipReason: "too-many-trigrams" };
  return { text, skipReason: markOfText(text) };
}

/** How a document with this text is marked: a text that is not UTF-8 was not decoded. */
export function markOfText(text: Buffer): SkipReason & ("none" | "not-decoded") {
  return isUtf8(text) ? "none" : "not-decoded";
}

const noBytes = Buffer.alloc(0);

export function hasTooManyTrigrams(content: Buffer, { trigramCountMax }: ContentLimits, kernel: Kernel): boolean {
  return (
    content.length > trigramCheckBytesMin &&
    kernel.distinctTrigrams(content, 0, content.length, trigramCountMax) > trigramCountMax
  );
}

export function isTooLarge(byteCount: number, path: Buffer, limits: ContentLimits): boolean {
  return byteCount > limits.fileBytesMax && limits.largeFiles?.(path) !== true;
}

/** The linguist name of the document's language; "" if unknown. */
export function detectLanguageName(path: Buffer, content: Buffer): string {
  return detectLanguage(path.toString(), content)?.name ?? "";
}

/**
 * A test for a list of globs: `*` and `?` stay within a path segment, `**` crosses them. A glob without a slash is
 * matched against the file name, another one against the whole path. Undefined for an empty list. They are translated for
 * RE2, because packages such as picomatch make regular expressions that backtrack (docs/decisions/0024).
 */
function globTest(globs: readonly string[]): PathTest | undefined {
  if (globs.length === 0) return undefined;
  const source = globs
    .map((glob) => (glob.includes("/") ? `\\A${globSource(glob)}\\z` : `(?:\\A|/)${globSource(glob)}\\z`))
    .join("|");
  return (path) => compileRegexp(`(?s:${source})`, false).test(Buffer.from(path.toString()));
}

function globSource(glob: string): string {
  return glob.replace(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (part) => {
    switch (part) {
      case "**/":
        return "(?:.*/)?";
      case "**":
        return ".*";
      case "*":
        return "[^/]*";
      case "?":
        return "[^/]";
      default:
        return escapeRegexp(part);
    }
  });
}
