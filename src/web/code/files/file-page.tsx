import { useLayoutEffect } from "preact/hooks";
import { decodedTextUrl, type PagePath, pageTextBytesMax, pageTextUrl, pageUrl } from "../../../model/page-path.js";
import { type Answer, useAnswer, useGraphql } from "../../api/use-graphql.js";
import { FoundCommit } from "../found.js";
import { navigate } from "../../route/router.js";
import { Failure, State, Waiting } from "../../ui/states.js";
import { directoryUrl } from "../code-urls.js";
import { usePart } from "../../route/load-part.js";
import { fileKind } from "./rendered/file-kind.js";
import { LargeFile } from "./large-file.js";
import { TextFile } from "./text-file.js";
import { formatCount } from "../../ui/numbers.js";
import { requestPage } from "../../api/api-error.js";

const fileQuery = `query File($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) {
      oid
      path(path: $path) {
        ... on GitTree { isDirectory }
        ... on GitBlob { isDirectory byteSize }
      }
    }
  }
}`;

/**
 * A file. Its text is shown as soon as it is there; what else is known of the path is asked for at the same time, and
 * needed at once only if there is no text to show.
 */
export function FilePage({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const used = useGraphql("File", fileQuery, { name, revision, path: path.path });
  const found = useFileText(path);
  if (found.kind === "ready" && found.value.kind === "text") {
    const oid = used.answer.kind === "ready" ? used.answer.value.repository?.commit?.oid : undefined;
    return <TextFile key={`${name}@${revision}/${path.path}`} path={path} text={found.value.text} oid={oid} />;
  }
  if (found.kind === "ready" && found.value.kind === "binary")
    return <BinaryFile path={path} byteCount={found.value.byteCount} />;
  return (
    <FoundCommit path={path} used={used} what="the file">
      {({ path: entry }) => (
        <WithoutText path={path} entry={entry} error={found.kind === "failed" ? found.error : undefined} />
      )}
    </FoundCommit>
  );
}

interface WithoutTextProps {
  readonly path: PagePath;
  readonly entry: FileEntry | null;
  /** Why the text could not be read; undefined as long as it is being read. */
  readonly error: unknown;
}

/** What a page says while it has no text. */
function WithoutText({ path, entry, error }: WithoutTextProps) {
  const isDirectory = entry?.isDirectory === true;
  useLayoutEffect(() => {
    if (isDirectory) navigate(directoryUrl(path, path.path), "replace");
  }, [isDirectory, path]);
  if (entry === null)
    return (
      <State title="There is no such file">
        <p>
          This revision has nothing at <code>{path.path}</code>.
        </p>
        <p>
          <a href={pageUrl(path, "commits", path.path)}>Commits that changed this path</a>
        </p>
      </State>
    );
  if (isDirectory) return null;
  const kind = fileKind(path.path);
  const byteSize = entry.byteSize ?? 0;
  if (byteSize > pageTextBytesMax && byteSize <= mediaBytesMax && (kind === "image" || kind === "pdf"))
    return <BinaryFile path={path} byteCount={byteSize} />;
  if (byteSize > pageTextBytesMax) return <LargeFile path={path} byteCount={byteSize} />;
  return error === undefined ? (
    <Waiting what="the text" />
  ) : (
    <Failure what="The file could not be read" error={error} />
  );
}

/** Larger images and documents are not opened by the page. */
const mediaBytesMax = 64 << 20;

interface BinaryProps {
  readonly path: PagePath;
  readonly byteCount: number;
}

/** A file without text: what it looks like, or its bytes. */
function BinaryFile({ path, byteCount }: BinaryProps) {
  const kind = fileKind(path.path);
  const { part, error } = usePart(true, () => import("./rendered/rendered-file.js"));
  return (
    <section class="panel file" aria-label={path.path}>
      <h1 class="unseen">{path.path}</h1>
      <div class="panel-head file-tools">
        <span class="soft small">
          {kind === undefined && "The file is not text. "}
          {formatCount(byteCount)} bytes
        </span>
        <a class="button quiet" href={pageUrl(path, "commits", path.path)}>
          History
        </a>
        <a class="button quiet" href={pageUrl(path, "raw", path.path)} download={path.path.split("/").at(-1)}>
          Download
        </a>
      </div>
      {error !== undefined && <Failure what="The file could not be shown" error={error} />}
      {part !== undefined && <part.RenderedBinary kind={kind} path={path} byteCount={byteCount} />}
    </section>
  );
}

/** What GraphQL tells about the entry at a path; the size is that of a file. */
interface FileEntry {
  readonly isDirectory: boolean;
  readonly byteSize?: number | null | undefined;
}

/** What is at the path of a file. */
type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "binary"; readonly byteCount: number }
  /** There is no file, or a larger one. */
  | { readonly kind: "none" };

/** The text of a file, which the document of the page has asked for already if it is the first that is opened. */
function useFileText(path: PagePath): Answer<FileText> {
  const url = pageTextUrl(path);
  return useAnswer(url, (signal) => readText(path, signal)).answer;
}

/** What is not plainly UTF-8 is asked for again as text, because a search finds it decoded: so lines and links fit. */
async function readText(path: PagePath, signal: AbortSignal): Promise<FileText> {
  const response = await requestPage(pageTextUrl(path), signal);
  if (response.status === 204) return { kind: "none" };
  const bytes = await response.arrayBuffer();
  const text = decodeUtf8(bytes);
  if (text !== undefined && !text.includes("\0") && !text.includes(japaneseEscape)) return { kind: "text", text };
  const decoded = await requestPage(decodedTextUrl(path), signal);
  return decoded.status === 204
    ? { kind: "binary", byteCount: bytes.byteLength }
    : { kind: "text", text: await decoded.text() };
}

/** What selects Japanese characters in ISO-2022-JP, whose bytes are those of ASCII. */
const japaneseEscape = "\x1b$";

function decodeUtf8(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
