import "./file-preview.css";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type PagePath, readPagePath } from "../../../model/page-path.js";
import type { StreamMatch } from "../../../model/stream-events.js";
import { useAnswer } from "../../api/use-graphql.js";
import { navigate, address } from "../../route/router.js";
import { addKeys } from "../../ui/keys.js";
import { matchingTokens } from "../../ui/text-range.js";
import { scrollable } from "../../ui/element.js";
import { Found } from "../../ui/states.js";
import { addressWithPreview } from "../panel-address.js";
import { type CodeLine, lineRow } from "../results/code-lines.js";
import { FileReader } from "../results/file-reader.js";
import { fileOfMatch } from "../results/result-frame.js";

/** Lines before and after the one that is previewed. */
const linesBefore = 200;
const linesAfter = 300;

interface PreviewProps {
  /** The address of the page of a file, with the line. */
  readonly href: string;
}

/** A part of a file beside the results. */
export function FilePreview({ href }: PreviewProps) {
  const url = new URL(href, address.value);
  const path = readPagePath(url.pathname);
  const line = Number(/^\?L(\d{1,9})/.exec(url.search)?.[1] ?? "0");
  useLayoutEffect(() => addKeys([{ key: "Escape", what: "Close the preview", act: close }]), []);
  return (
    <aside class="preview panel" aria-label="Preview">
      <div class="preview-head">
        <a href={href}>{path?.path}</a>
        <button type="button" class="button quiet" aria-label="Close the preview" title="Escape" onClick={close}>
          ✕
        </button>
      </div>
      {path !== undefined && <PreviewLines key={href} path={path} href={href} line={line} />}
    </aside>
  );
}

function close(): void {
  // As it was opened: Back leaves the results.
  navigate(addressWithPreview(address.peek(), undefined), "replace");
}

interface LinesProps {
  readonly path: PagePath;
  readonly href: string;
  /** 1-based; 0 for the first. */
  readonly line: number;
}

function PreviewLines({ path, href, line }: LinesProps) {
  const reader = useSignal<FileReader | undefined>(undefined);
  const match = { type: "content", repository: path.name, commit: path.revision || "HEAD", path: path.path };
  const from = Math.max(0, line - 1 - linesBefore);
  const to = from + linesBefore + linesAfter;
  const used = useAnswer(href, async (stopped) => {
    const made = new FileReader();
    stopped.addEventListener("abort", () => made.close());
    reader.value = made;
    return await made.readLines(match, { from, to });
  });
  return (
    <Found used={used} what="the preview">
      {(lines) =>
        lines.length === 0 ? (
          <p class="soft">There is no text to show: the file is empty, not text, or too large.</p>
        ) : (
          <Rows lines={lines} match={match} line={line} url={href.split("?", 1)[0] ?? href} reader={reader.value} />
        )
      }
    </Found>
  );
}

interface RowsProps {
  readonly lines: readonly CodeLine[];
  readonly match: StreamMatch;
  readonly line: number;
  readonly url: string;
  readonly reader: FileReader | undefined;
}

function Rows({ lines, match, line, url, reader }: RowsProps) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = host;
    if (current === null) return;
    const first = lines[0]?.number ?? 0;
    const show = (tokensAt: (index: number) => Parameters<typeof lineRow>[2]): void => {
      current.replaceChildren(...lines.map((row, index) => lineRow(row, url, tokensAt(index))));
      current.children[line - 1 - first]?.classList.add("selected");
    };
    show(() => []);
    const selected = current.querySelector<HTMLElement>(".selected");
    if (selected !== null) current.scrollTop = selected.offsetTop - current.clientHeight / 3;
    const span = { from: first, to: first + lines.length };
    reader?.highlight(fileOfMatch(match), [span], (_, tokens) =>
      show((index) => matchingTokens(tokens[index], lines[index]?.text ?? "")),
    );
  }, [lines]);
  return <div ref={host} class="preview-lines" {...scrollable(`Lines of ${match.path ?? ""}`)} />;
}
