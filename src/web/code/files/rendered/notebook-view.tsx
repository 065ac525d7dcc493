import type { ComponentChild } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { escapeUrlPart } from "../../../../base/path-text.js";
import type { PagePath } from "../../../../model/page-path.js";
import { useSignal } from "@preact/signals";
import { graphqlText } from "../../../api/graphql.js";
import { useAnswer } from "../../../api/use-graphql.js";
import { formatCount } from "../../../ui/numbers.js";
import { scrollable } from "../../../ui/element.js";
import { Notice } from "../../../ui/states.js";
import { CodeMarkup, isTooInvolved, SafeMarkup } from "../markup.js";
import { type NotebookCell, type NotebookOutput, readNotebook } from "./read-contents.js";

interface NotebookProps {
  readonly path: PagePath;
  readonly text: string;
}

/** A notebook: its texts, its code and what that printed. Nothing in it runs. */
export function NotebookView({ path, text }: NotebookProps) {
  const found = useMemo(() => {
    try {
      return readNotebook(text);
    } catch (error) {
      return error instanceof Error ? error : new SyntaxError(String(error));
    }
  }, [text]);
  if (found instanceof Error)
    return (
      <Notice kind="warn">
        <strong>The notebook cannot be shown.</strong>
        <span>{found.message} Its source is shown by the button above.</span>
      </Notice>
    );
  return <Cells path={path} cells={found.cells} language={found.language} cellsLeft={found.cellsLeft} />;
}

interface CellsProps {
  readonly path: PagePath;
  readonly cells: readonly NotebookCell[];
  readonly language: string;
  readonly cellsLeft: number;
}

function Cells({ path, cells, language, cellsLeft }: CellsProps) {
  const { answer } = useAnswer(JSON.stringify(path), (signal) => renderCells(cells, language, signal));
  const html = answer.kind === "ready" ? answer.value : [];
  return (
    <div class="notebook">
      {cells.length === 0 && <p class="soft">The notebook has no cells.</p>}
      {cells.map((cell, at) => (
        <Cell key={at} path={path} cell={cell} at={at} html={html[at]} />
      ))}
      {cellsLeft > 0 && (
        <p class="soft">{formatCount(cellsLeft)} more cells are not shown; the source has all of them.</p>
      )}
      {answer.kind === "failed" && (
        <p class="soft small">Markdown and colours could not be had from the server: texts are shown as they are.</p>
      )}
    </div>
  );
}

/** Cells that one request asks for, and the length of those that are: longer ones are shown as they are. */
const cellsPerRequest = 20;
const cellLengthMax = 20_000;

/** The markup of each cell: of its Markdown, or of its code in colours; undefined where there is none. */
async function renderCells(
  cells: readonly NotebookCell[],
  language: string,
  signal: AbortSignal,
): Promise<readonly (string | undefined)[]> {
  const html: (string | undefined)[] = cells.map(() => undefined);
  let failure: unknown;
  for (let from = 0; from < cells.length; from += cellsPerRequest) {
    const asked = cells
      .slice(from, from + cellsPerRequest)
      .map((cell, at) => ({ cell, at: from + at }))
      .filter(({ cell }) => cell.text.trim() !== "" && cell.kind !== "raw" && cell.text.length <= cellLengthMax);
    if (asked.length === 0) continue;
    const fields = asked.map(({ cell, at }) =>
      cell.kind === "markdown"
        ? `c${at}: renderMarkdown(markdown: $t${at})`
        : `c${at}: highlightCode(code: $t${at}, fuzzyLanguage: $language, disableTimeout: false, isLightTheme: true)`,
    );
    const declared = asked.map(({ at }) => `$t${at}: String!`).join(", ");
    const usesLanguage = asked.some(({ cell }) => cell.kind === "code");
    const query = `query NotebookCells(${declared}${usesLanguage ? ", $language: String!" : ""}) { ${fields.join("\n")} }`;
    const variables = Object.fromEntries(asked.map(({ cell, at }) => [`t${at}`, cell.text]));
    try {
      const found = await graphqlText<Readonly<Record<string, string | null>>>(
        "NotebookCells",
        query,
        usesLanguage ? { ...variables, language } : variables,
        signal,
      );
      for (const { at } of asked) html[at] = found[`c${at}`] ?? undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      failure ??= error;
    }
  }
  // One cell that takes too much work does not take the others' markup.
  if (failure !== undefined && html.every((one) => one === undefined)) throw failure;
  return html;
}

interface CellProps {
  readonly path: PagePath;
  readonly cell: NotebookCell;
  readonly at: number;
  readonly html: string | undefined;
}

function Cell({ path, cell: { kind, text, count, outputs }, at, html }: CellProps) {
  if (kind === "markdown")
    return html === undefined ? (
      <pre class="readme-text" {...scrollable(`Text of cell ${at + 1}`)}>
        {text}
      </pre>
    ) : (
      <SafeMarkup html={html} path={path} file={path.path} />
    );
  return (
    <div class="cell">
      <span class="cell-count soft small">{count === undefined ? "" : `[${count}]`}</span>
      <pre class="cell-code" {...scrollable(`Code of cell ${at + 1}`)}>
        <code>{html === undefined ? text : <CodeMarkup html={html} />}</code>
      </pre>
      {outputs.map((output, index) => (
        <Output key={index} path={path} output={output} what={`output ${index + 1} of cell ${at + 1}`} />
      ))}
    </div>
  );
}

interface OutputProps {
  readonly path: PagePath;
  readonly output: NotebookOutput;
  readonly what: string;
}

function Output({ path, output, what }: OutputProps): ComponentChild {
  switch (output.kind) {
    case "image":
      return <DataImage type={output.type} data={output.data} what={what} />;
    case "other":
      return <p class="soft small">{output.what} is not shown.</p>;
    case "html":
      return isTooInvolved(output.text) ? (
        <p class="soft small">A page that is too involved is not shown.</p>
      ) : (
        <SafeMarkup html={output.text} path={path} file={path.path} />
      );
    case "text":
    case "error":
    case "markdown":
      return (
        <pre class={`cell-output ${output.kind}`} {...scrollable(`Text of ${what}`)}>
          {output.text}
          {output.isCut && "\n… (the source has the rest)"}
        </pre>
      );
  }
}

/**
 * An image from data, by an address of this page. An SVG has its data in its address instead: opened by itself, it is then a
 * document of no site.
 */
function DataImage({ type, data, what }: { readonly type: string; readonly data: string; readonly what: string }) {
  const url = useSignal("");
  const isBroken = useSignal(false);
  useEffect(() => {
    if (type === "image/svg+xml") {
      url.value = `data:${type},${escapeUrlPart(data)}`;
      return undefined;
    }
    const bytes = decodeBase64(data);
    isBroken.value = bytes === undefined;
    if (bytes === undefined) return undefined;
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    url.value = made;
    return () => URL.revokeObjectURL(made);
  }, [type, data]);
  if (isBroken.value) return <p class="soft small">An image is not shown: its data is damaged.</p>;
  if (url.value === "") return null;
  return <img class="cell-image" src={url.value} alt={`Image: ${what}`} onError={() => (isBroken.value = true)} />;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
