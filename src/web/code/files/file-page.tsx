import { useEffect } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { FoundCommit, type RepositoryAnswer } from "../found.js";
import { navigate } from "../../route/router.js";
import { State } from "../../ui/states.js";
import { directoryUrl, pageUrl } from "../urls.js";
import type { FileEntry } from "./file-entry.js";
import { TextFile } from "./text-file.js";

interface FileCommit {
  readonly oid: string;
  readonly path: FileEntry | null;
}

/** The daemon reads no larger file at once. */
const shownBytesMax = 8 << 20;

const fileQuery = `query File($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) {
      oid
      path(path: $path) {
        ... on GitTree { isDirectory externalURLs { url serviceKind } }
        ... on GitBlob { isDirectory byteSize externalURLs { url serviceKind } }
      }
    }
  }
}`;

/** A file. */
export function FilePage({ path }: { readonly path: PagePath }) {
  const { name, revision } = path;
  const used = useGraphql<RepositoryAnswer<FileCommit>>("File", fileQuery, { name, revision, path: path.path });
  return (
    <FoundCommit path={path} used={used} what="the file">
      {({ oid, path: entry }) => <File path={path} oid={oid} entry={entry} />}
    </FoundCommit>
  );
}

interface FileProps {
  readonly path: PagePath;
  readonly oid: string;
  readonly entry: FileEntry | null;
}

function File({ path, oid, entry }: FileProps) {
  const isDirectory = entry?.isDirectory === true;
  useEffect(() => {
    if (isDirectory) navigate(directoryUrl(path, path.path), "replace");
  }, [isDirectory, path]);
  const raw = pageUrl(path, "raw", path.path);
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
  if ((entry.byteSize ?? 0) > shownBytesMax)
    return (
      <State title="The file is too large for a page">
        <p>It has {(entry.byteSize ?? 0).toLocaleString("en")} bytes.</p>
        <a class="button" href={raw}>
          Open it as plain text
        </a>
      </State>
    );
  return <TextFile key={`${oid}/${path.path}`} path={path} oid={oid} entry={entry} />;
}
