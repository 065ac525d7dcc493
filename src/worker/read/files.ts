import type { BlobReaderOptions } from "../../git/objects/blob-reader.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { tableRows } from "../../base/html.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { detectLanguage } from "../../indexer/detect-language.js";
import type { FileAnswer, GitReadAnswer, ReadFiles, WantedFile } from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { readGivenLanguages } from "./path-languages.js";
import { commentLineLengthMax, docComment, docLines } from "./doc-comment.js";
import { highlightText, plainLines, MarkupTime } from "./highlight.js";
import { renderMarkdown } from "./markdown.js";

/** Larger files are not read for GraphQL, whose responses are built in memory; their raw form is streamed. */
export const fileBytesMax = 8 << 20;

/** Limit on the total text of one task's files; files that do not fit are treated as too large. */
const textBytesMax = 16 << 20;

/** A read fails if git shows no activity for this long. */
const silenceMs = 60_000;

/** Limit on the HTML of one file, and the minimum size of a line in it. */
const htmlUnitsMax = 16 << 20;
const rowUnitsMin = 75;

const lineFeed = 10;

/** The requested form of each file, in the order of the request. */
export async function answerReadFiles(
  { repositoryId, files }: ReadFiles,
  context: ReadContext,
): Promise<GitReadAnswer<"read-files">> {
  const answers: FileAnswer[] = [];
  const mirror = mirrorPath(context, repositoryId);
  const languages = await givenLanguages(mirror, files, context);
  const time = new MarkupTime(files.some(({ form }) => form.kind === "html" && form.patient));
  let textBytes = 0;
  await readBlobs(
    blobOptions(mirror, context),
    files.map(({ oid }) => oid),
    (index, outcome) => {
      if (outcome.kind === "missing") answers[index] = outcome;
      else if (outcome.kind === "too-large") answers[index] = { kind: "too-large", byteCount: outcome.contentBytes };
      else {
        const file = files[index];
        const byteCount = outcome.content.length;
        const room = textBytesMax - textBytes;
        // What is sent counts, which may be more than the file has, or only some lines; but HTML, which has a limit of its
        // own for each file, counts as its source, and is not made if that does not fit. A smaller file may still fit.
        const isHtml = file.form.kind === "html" || file.form.kind === "plain-html";
        const answer =
          isHtml && byteCount > room ? undefined : answerFile(file, languages[index], outcome.content, time);
        const sentBytes = answer?.kind !== "file" ? 0 : isHtml ? byteCount : Buffer.byteLength(answer.text);
        const fits = answer !== undefined && sentBytes <= room;
        if (fits) textBytes += sentBytes;
        answers[index] = fits ? answer : { kind: "too-large", byteCount };
      }
    },
  );
  return { files: answers };
}

/** Options for reading blobs of a mirror for a response. */
export function blobOptions(mirror: string, { stop }: ReadContext): BlobReaderOptions {
  return { directory: mirror, contentBytesMax: fileBytesMax, silenceMs, stop };
}

/** The language of each file by the attributes of its commit; "" if they say nothing. */
async function givenLanguages(
  mirror: string,
  files: readonly WantedFile[],
  { stop }: ReadContext,
): Promise<readonly string[]> {
  const ofCommit = new Map<string, string[]>();
  for (const { commit, path } of files) {
    const paths = ofCommit.get(commit);
    if (paths === undefined) ofCommit.set(commit, [path]);
    else paths.push(path);
  }
  const found = new Map<string, string>();
  for (const [commit, paths] of ofCommit) {
    const languages = await readGivenLanguages(mirror, commit, paths, stop);
    paths.forEach((path, i) => found.set(`${commit} ${path}`, languages[i]));
  }
  return files.map(({ commit, path }) => found.get(`${commit} ${path}`) ?? "");
}

function answerFile(file: WantedFile, given: string, blob: Buffer, time: MarkupTime): FileAnswer {
  const { kind, text: content } = textOfBlob(blob);
  const shared = {
    kind: "file" as const,
    byteCount: blob.length,
    isBinary: kind === "binary",
    language: given || (detectLanguage(file.path, content)?.name ?? ""),
    aborted: false,
  };
  if (shared.isBinary) return { ...shared, lineCount: 0, text: "" };
  const lineCount = countLines(content);
  const [first, last] = lineBounds(file, lineCount);
  switch (file.form.kind) {
    case "attributes":
      return { ...shared, lineCount, text: "" };
    case "text":
      return { ...shared, lineCount, text: sliceLines(content, lineCount, first, last) };
    case "definition": {
      const from = Math.max(1, first - docLines.before);
      const around = sliceLines(content, lineCount, from, Math.min(lineCount, first + docLines.behind)).split("\n");
      const lines = around.map((line) => line.slice(0, commentLineLengthMax));
      const documentation = docComment(lines, first - from, shared.language, from === 1);
      return { ...shared, lineCount, text: around[first - from] ?? "", documentation };
    }
    case "markdown": {
      if (shared.language !== "Markdown") return { ...shared, lineCount, text: "" };
      const html = renderMarkdown(sliceLines(content, lineCount, first, last), time);
      return { ...shared, lineCount, text: html ?? "", aborted: html === undefined };
    }
    case "plain-html":
    case "html":
      break;
  }
  if ((last - first + 1) * rowUnitsMin > htmlUnitsMax) return { kind: "too-large", byteCount: content.length };
  const text = content.toString("utf8");
  const { lines, aborted } =
    file.form.kind === "html"
      ? highlightText({ text, path: file.path, language: shared.language, longLines: file.form.longLines }, time)
      : { lines: plainLines(text), aborted: false };
  const rows = tableRows(lines.slice(first - 1, Math.max(1, last)), first);
  return rows.length > htmlUnitsMax
    ? { kind: "too-large", byteCount: content.length }
    : { ...shared, lineCount, text: rows, aborted };
}

/** A line feed at the end does not start another line. */
function countLines(content: Buffer): number {
  let count = 0;
  for (let at = content.indexOf(lineFeed); at >= 0; at = content.indexOf(lineFeed, at + 1)) count++;
  return content.length > 0 && content[content.length - 1] !== lineFeed ? count + 1 : count;
}

/**
 * The first and the last requested line. Bounds are clipped; if the start is past the end, all lines are returned, as
 * clients expect.
 */
function lineBounds({ startLine, endLine }: WantedFile, lineCount: number): [first: number, last: number] {
  const first = Math.max(1, startLine ?? 1);
  const last = Math.min(lineCount, endLine ?? lineCount);
  return first > lineCount || last < first ? [1, lineCount] : [first, last];
}

function sliceLines(content: Buffer, lineCount: number, first: number, last: number): string {
  if (first === 1 && last === lineCount) return content.toString("utf8");
  let start = 0;
  for (let line = 1; line < first; line++) start = content.indexOf(lineFeed, start) + 1;
  let end = start;
  for (let line = first; line <= last; line++) end = content.indexOf(lineFeed, end) + 1 || content.length;
  return content.toString("utf8", start, end);
}
