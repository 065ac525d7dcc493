import "./rendered.css";
import { mediaUrl, type PagePath, pageUrl } from "../../../../model/page-path.js";
import { RenderedText } from "../readme.js";
import type { FileKind } from "./file-kind.js";
import { NotebookView } from "./notebook-view.js";
import { useSignal } from "@preact/signals";
import { Found, Notice, State } from "../../../ui/states.js";
import Papa from "papaparse";
import { useMemo } from "preact/hooks";
import { formatAmount, formatCount } from "../../../ui/numbers.js";
import { scrollable } from "../../../ui/element.js";
import { bytesPerLine, hexLines, readTable } from "./read-contents.js";
import { requestPage } from "../../../api/api-error.js";
import { useAnswer } from "../../../api/use-graphql.js";
import { address } from "../../../route/router.js";

interface RenderedProps {
  readonly kind: FileKind;
  readonly path: PagePath;
  readonly text: string;
}

/** What a file with text looks like. */
export function RenderedFile({ kind, path, text }: RenderedProps) {
  switch (kind) {
    case "markdown":
      return <RenderedText path={path} file={path.path} />;
    case "notebook":
      return <NotebookView path={path} text={text} />;
    case "table":
      return <TableView path={path.path} text={text} />;
    case "svg":
    case "image":
    case "pdf":
      return <MediaView path={path} kind={kind} />;
  }
}

interface BinaryProps {
  readonly kind: FileKind | undefined;
  readonly path: PagePath;
  readonly byteCount: number;
}

/** What a file without text looks like; of most, that is their bytes. */
export function RenderedBinary({ kind, path, byteCount }: BinaryProps) {
  return kind === "image" || kind === "pdf" || kind === "svg" ? (
    <MediaView path={path} kind={kind} />
  ) : (
    <HexView path={path} byteCount={byteCount} />
  );
}

interface MediaProps {
  readonly path: PagePath;
  readonly kind: Extract<FileKind, "image" | "pdf" | "svg">;
}

/** An image or a document, as the browser shows it. An image runs no scripts and loads nothing, whatever is in it. */
function MediaView({ path, kind }: MediaProps) {
  const isBroken = useSignal(false);
  const size = useSignal("");
  const url = mediaUrl(path);
  const name = path.path.split("/").at(-1) ?? "";
  if (kind === "pdf")
    return navigator.pdfViewerEnabled ? (
      <iframe class="media-pdf" src={url} title={name} />
    ) : (
      <State title="This browser shows no PDF" level={2}>
        <p>It opens or keeps the file with another program.</p>
        <a class="button" href={url} download={name}>
          Download
        </a>
      </State>
    );
  if (isBroken.value)
    return (
      <State title="The image cannot be shown" level={2}>
        <p>It is damaged, of a kind that this browser does not know, or not an image.</p>
        <a class="button" href={pageUrl(path, "raw", path.path)} download={name}>
          Download
        </a>
      </State>
    );
  return (
    <figure class="media">
      <img
        src={url}
        alt={name}
        onError={() => {
          isBroken.value = true;
        }}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => {
          size.value = `${naturalWidth} × ${naturalHeight} pixels`;
        }}
      />
      <figcaption class="soft small">
        {size.value}
        {kind === "svg" && " · shown as an image: its scripts do not run, and it loads nothing"}
      </figcaption>
    </figure>
  );
}

/** A file of values as a table, whose first row is its head. */
function TableView({ path, text }: { readonly path: string; readonly text: string }) {
  const { head, rows, isCut, columnsLeft, problem } = useMemo(() => readTable(text, path, Papa.parse), [text, path]);
  if (head.length === 0) return <p class="soft table-note">The file has no rows.</p>;
  return (
    <>
      {problem !== undefined && (
        <Notice kind="warn">
          <strong>The table may be wrong.</strong>
          <span>{problem} The source is shown by the button above.</span>
        </Notice>
      )}
      <p class="soft small table-note" role="status">
        {isCut ? `The first ${formatCount(rows.length)} rows` : formatAmount(rows.length, "row")}
        {`, ${formatAmount(head.length + columnsLeft, "column")}`}
        {columnsLeft > 0 && `, of which ${formatCount(head.length)} are shown`}
        {isCut && ". The source has the rest."}
      </p>
      <div class="file-table" {...scrollable(`Table of ${path}`)}>
        <table>
          <thead>
            <tr>
              <td />
              {head.map((cell, at) =>
                cell.trim() === "" ? (
                  <td key={at} />
                ) : (
                  <th key={at} scope="col">
                    {cell}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                <td class="row-number">{formatCount(at + 1)}</td>
                {head.map((_, column) => (
                  <td key={column}>{row[column] ?? ""}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** Bytes that are shown at a time. */
const pageBytes = 4096;

interface HexProps {
  readonly path: PagePath;
  readonly byteCount: number;
}

/** A part of the bytes of a file, from the offset in the address on. */
function HexView({ path, byteCount }: HexProps) {
  const given = Number(/^\d{1,15}$/.exec(address.value.searchParams.get("at") ?? "")?.[0] ?? 0);
  const chosen = Math.min(given, Math.max(0, byteCount - 1));
  const from = chosen - (chosen % bytesPerLine);
  const to = Math.min(byteCount, from + pageBytes);
  const url = pageUrl(path, "raw", path.path);
  const used = useAnswer(`${url} ${from}`, async (signal) => {
    if (byteCount === 0) return new Uint8Array();
    const response = await requestPage(url, signal, { Range: `bytes=${from}-${to - 1}` });
    // Whoever ignores the range sends everything.
    const bytes = new Uint8Array(await response.arrayBuffer());
    return response.status === 206 ? bytes : bytes.subarray(from, to);
  });
  if (byteCount === 0) return null;
  const page = (at: number, text: string) => (
    <a class="button quiet" href={at === 0 ? address.value.pathname : `${address.value.pathname}?at=${at}`}>
      {text}
    </a>
  );
  return (
    <section aria-label="Bytes">
      <p class="hex-head">
        <span class="soft small">
          Bytes {formatCount(from)} to {formatCount(to - 1)} of {formatCount(byteCount)}
        </span>
        {from > 0 && page(Math.max(0, from - pageBytes), "Earlier bytes")}
        {to < byteCount && page(to, "Later bytes")}
      </p>
      <Found used={used} what="the bytes">
        {(bytes) => (
          <pre class="hex" {...scrollable("Bytes in hexadecimal")}>
            {hexLines(bytes, from)}
          </pre>
        )}
      </Found>
    </section>
  );
}
