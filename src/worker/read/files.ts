import { BlobReader, type OnBlob } from "../../git/blob-reader.js";
import { detectLanguage } from "../../model/language.js";
import type { FileAnswer, GitReadAnswer, ReadFiles, WantedFile } from "../git-messages.js";
import { mirrorOf, type ReadContext } from "./context.js";

/** Larger files are not read for GraphQL, whose answers are made in memory; their raw form streams. */
export const fileBytesMax = 8 << 20;

/** The text of one task's files together; files past it count as too large. */
const textBytesMax = 16 << 20;

/** Without a sign of life from git for so long, a read fails. */
const silenceMs = 60_000;

const headBytes = 8192;
const lineFeed = 10;

/** What is wanted of each file, in the order asked. */
export async function answerReadFiles({ repositoryId, files }: ReadFiles, context: ReadContext): Promise<GitReadAnswer<"read-files">> {
  const answers: FileAnswer[] = [];
  let textBytes = 0;
  await readBlobs(mirrorOf(context, repositoryId), files.map(({ oid }) => oid), context, (index, outcome) => {
    if (outcome.kind === "missing") answers[index] = outcome;
    else if (outcome.kind === "too-large") answers[index] = { kind: "too-large", byteCount: outcome.contentBytes };
    else {
      const file = files[index];
      if (file.form !== "facts") textBytes += outcome.content.length;
      answers[index] = textBytes > textBytesMax ? { kind: "too-large", byteCount: outcome.content.length } : answerOf(file, outcome.content);
    }
  });
  return { files: answers };
}

/** Reads blobs through one process. */
export async function readBlobs(mirror: string, oids: readonly string[], { stop }: ReadContext, onBlob: OnBlob): Promise<void> {
  const reader = new BlobReader({ directory: mirror, contentBytesMax: fileBytesMax, silenceMs, stop });
  try {
    await reader.read(oids, onBlob);
  } finally {
    reader.close();
  }
}

function answerOf(file: WantedFile, content: Buffer): FileAnswer {
  const head = content.subarray(0, headBytes);
  const isBinary = head.includes(0);
  const shared = { kind: "file" as const, byteCount: content.length, isBinary, language: detectLanguage(file.path, isBinary ? Buffer.alloc(0) : head)?.name ?? "" };
  if (isBinary) return { ...shared, lineCount: 0, text: "" };
  const lineCount = countLines(content);
  if (file.form === "facts") return { ...shared, lineCount, text: "" };
  const { text, firstLine } = linesOf(content, lineCount, file.startLine, file.endLine);
  return { ...shared, lineCount, text: file.form === "html" ? tableRows(text, firstLine) : text };
}

/** A line feed at the end begins no further line. */
function countLines(content: Buffer): number {
  let count = 0;
  for (let at = content.indexOf(lineFeed); at >= 0; at = content.indexOf(lineFeed, at + 1)) count++;
  return content.length > 0 && content[content.length - 1] !== lineFeed ? count + 1 : count;
}

/** The lines that are wanted. Bounds are clipped; a start past the end asks for everything, as clients expect. */
function linesOf(content: Buffer, lineCount: number, startLine: number | undefined, endLine: number | undefined): { text: string; firstLine: number } {
  const first = Math.max(1, startLine ?? 1);
  const last = Math.min(lineCount, endLine ?? lineCount);
  if (first > lineCount || last < first || (first === 1 && last === lineCount)) return { text: content.toString("utf8"), firstLine: 1 };
  let start = 0;
  for (let line = 1; line < first; line++) start = content.indexOf(lineFeed, start) + 1;
  let end = start;
  for (let line = first; line <= last; line++) end = content.indexOf(lineFeed, end) + 1 || content.length;
  return { text: content.toString("utf8", start, end), firstLine: first };
}

function tableRows(text: string, firstLine: number): string {
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  return lines.map((line, at) =>
    `<tr><td class="line" data-line="${firstLine + at}"></td><td class="code"><span>${escapeHtml(line)}\n</span></td></tr>`).join("");
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => htmlEntities[character] ?? character);
}

const htmlEntities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&#34;", "'": "&#39;" };
