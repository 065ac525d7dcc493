import { scrollable } from "../../ui/element.js";
import { Found } from "../../ui/states.js";
import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { fileKind } from "./rendered/file-kind.js";
import { SafeMarkup } from "./markup.js";

const readmeQuery = `query Readme($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) { blob(path: $path) { richHTML content(startLine: 1, endLine: 2000) byteSize } }
  }
}`;

interface ReadmeProps {
  readonly path: PagePath;
  readonly file: string;
}

/** A README below its directory. */
export function Readme({ path, file }: ReadmeProps) {
  return (
    <section class="panel readme" aria-label={file}>
      <h2 class="panel-head">
        <a href={pageUrl(path, "blob", file)}>{file.split("/").at(-1)}</a>
      </h2>
      <RenderedText path={path} file={file} />
    </section>
  );
}

/** A file for readers: rendered if it is Markdown, otherwise its text. */
export function RenderedText({ path, file }: ReadmeProps) {
  const { name, revision } = path;
  const used = useGraphql("Readme", readmeQuery, { name, revision, path: file });
  const isMarkdown = fileKind(file) === "markdown";
  return (
    <Found used={used} what="the text">
      {({ repository }) => {
        const blob = repository?.commit?.blob ?? undefined;
        if (blob === undefined) return null;
        return blob.richHTML === null || blob.richHTML === "" ? (
          <>
            {isMarkdown && (blob.byteSize ?? 0) > 0 && (
              <p class="rendered-note soft small">
                The file is too long or too involved to be rendered: this is its text.
              </p>
            )}
            <pre class="readme-text" {...scrollable(`Text of ${file}`)}>
              {blob.content}
            </pre>
          </>
        ) : (
          <SafeMarkup html={blob.richHTML} path={path} file={file} />
        );
      }}
    </Found>
  );
}
