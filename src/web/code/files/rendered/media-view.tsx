import { useSignal } from "@preact/signals";
import { type PagePath, mediaUrl, pageUrl } from "../../../../model/page-path.js";
import { State } from "../../../ui/states.js";
import type { FileKind } from "./file-kind.js";

interface MediaProps {
  readonly path: PagePath;
  readonly kind: Extract<FileKind, "image" | "pdf" | "svg">;
}

/** An image or a document, as the browser shows it. An image runs no scripts and loads nothing, whatever is in it. */
export function MediaView({ path, kind }: MediaProps) {
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
