import "./rendered.css";
import type { PagePath } from "../../../../model/page-path.js";
import { RenderedText } from "../readme.js";
import type { FileKind } from "./file-kind.js";
import { HexView } from "./hex-view.js";
import { MediaView } from "./media-view.js";
import { NotebookView } from "./notebook-view.js";
import { TableView } from "./table-view.js";

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
