import "./file.css";
import { scrollable } from "../../ui/element.js";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { requestPage } from "../../api/api-error.js";
import { useAnswer } from "../../api/use-graphql.js";
import { address } from "../../route/router.js";
import { formatCount } from "../../ui/numbers.js";
import { Found } from "../../ui/states.js";
import { type FilePart, readFilePart } from "./file-part.js";
import { type LineRange, readLineRange } from "./line-range.js";

/** Lines that are shown at once, and those of them before the line of the address. */
const partLineCount = 1000;
const linesBefore = 200;

interface LargeFileProps {
  readonly path: PagePath;
  readonly byteCount: number;
}

/** A part of a file that is too large for a page: the lines around the one in the address. */
export function LargeFile({ path, byteCount }: LargeFileProps) {
  const range = readLineRange(address.value);
  const from = Math.max(1, (range?.from ?? 1) - linesBefore);
  const url = pageUrl(path, "raw", path.path);
  const used = useAnswer(`${url} ${from}`, async (signal) => {
    const { body } = await requestPage(url, signal);
    return await readFilePart(readPieces(body), from, partLineCount);
  });
  return (
    <section class="panel file" aria-label={path.path}>
      <h1 class="unseen">{path.path}</h1>
      <Found used={used} what="the lines">
        {(part) => <Part part={part} range={range} url={url} byteCount={byteCount} />}
      </Found>
    </section>
  );
}

/** `ReadableStream` is no iterable in every browser. What is not read any more is not sent either. */
async function* readPieces(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (;;) {
      const next = await reader?.read();
      if (next?.value === undefined) return;
      yield next.value;
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
}

interface PartProps {
  readonly part: FilePart;
  readonly range: LineRange | undefined;
  readonly url: string;
  readonly byteCount: number;
}

function Part({ part: { firstLine, lines, isEnd }, range, url, byteCount }: PartProps) {
  const host = useRef<HTMLDivElement>(null);
  const lastLine = firstLine + lines.length - 1;
  useLayoutEffect(() => {
    const shown = host.current;
    if (shown === null) return;
    shown.style.setProperty("--gutter", `${String(lastLine).length + 2}ch`);
    shown.querySelector(".selected")?.scrollIntoView({ block: "center" });
  }, [firstLine, lastLine, range?.from]);
  const { pathname } = address.value;
  return (
    <>
      <div class="panel-head file-tools">
        <span class="soft small">
          {lines.length === 0
            ? `The file has no line ${formatCount(firstLine)}`
            : `Lines ${formatCount(firstLine)} to ${formatCount(lastLine)}`}{" "}
          of {formatCount(byteCount)} bytes, which are too many for a page
        </span>
        {firstLine > 1 && (
          <a class="button quiet" href={`${pathname}?L${Math.max(1, firstLine - partLineCount + linesBefore)}`}>
            Earlier lines
          </a>
        )}
        {!isEnd && (
          <a class="button quiet" href={`${pathname}?L${lastLine + 1}`}>
            Later lines
          </a>
        )}
        <a class="button quiet" href={url}>
          Raw
        </a>
      </div>
      <div class="file-body">
        <div ref={host} class="file-lines" {...scrollable("Lines of the file")}>
          <div class="chunk" style={{ "--lines": lines.length }}>
            {lines.map((text, i) => {
              const number = firstLine + i;
              const isSelected = range !== undefined && number >= range.from && number <= range.to;
              return (
                <div key={number} class={isSelected ? "line selected" : "line"} data-line={number}>
                  <code>{text}</code>
                </div>
              );
            })}
          </div>
        </div>
      </div>
    </>
  );
}
