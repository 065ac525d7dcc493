import { type PagePath, pageUrl, repositoryUrl } from "../../../model/page-path.js";
import { graphql } from "../../api/graphql.js";
import { mapAnswer, useGraphql } from "../../api/use-graphql.js";
import { FoundCommit } from "../found.js";
import { address } from "../../route/router.js";
import { When } from "../../route/when.js";
import { signatureFields, type Signature } from "./commit-line.js";
import { type HostLink, hostLinkFields, MessageText } from "./message-text.js";
import { readDiffView } from "./diff-view.js";
import { fileDiffFields, FileDiffs } from "./file-diffs.js";

interface CommitData {
  readonly oid: string;
  readonly message: string | null;
  readonly author: Signature | null;
  readonly committer: Signature | null;
  readonly parents: readonly { readonly oid: string; readonly abbreviatedOID: string }[] | null;
}

const commitQuery = `query Commit($name: String!, $revision: String!) {
  repository(name: $name) {
    externalURLs ${hostLinkFields}
    commit(rev: $revision) {
      oid
      message
      author ${signatureFields}
      committer ${signatureFields}
      parents { oid abbreviatedOID }
    }
  }
}`;

const filesQuery = `query CommitFiles($name: String!, $revision: String!, $ignoresSpace: Boolean!, $after: String) {
  repository(name: $name) {
    commit(rev: $revision) {
      diff { fileDiffs(first: 100, ignoreWhitespace: $ignoresSpace, after: $after) ${fileDiffFields} }
    }
  }
}`;

/** A commit: its message, and what it changed relative to its first parent. */
export function CommitPage({ path }: { readonly path: PagePath }) {
  const { name } = path;
  const revision = path.path === "" ? path.revision : path.path;
  const { ignoresSpace } = readDiffView(address.value);
  const asked = { name, revision, ignoresSpace, after: null };
  const used = useGraphql("Commit", commitQuery, { name, revision });
  const files = useGraphql("CommitFiles", filesQuery, asked);
  return (
    <FoundCommit path={{ ...path, revision }} used={used} what="the commit">
      {(commit) => {
        const hosts = used.answer.kind === "ready" ? used.answer.value.repository?.externalURLs : undefined;
        return (
          <>
            <Commit name={name} commit={commit} hosts={hosts ?? []} />
            <FileDiffs
              key={commit.oid}
              name={name}
              used={mapAnswer(files, ({ repository }) => repository?.commit?.diff?.fileDiffs ?? null)}
              readMore={async (after) => {
                const more = { ...asked, revision: commit.oid, after };
                const { repository } = await graphql("CommitFiles", filesQuery, more);
                return repository?.commit?.diff?.fileDiffs ?? null;
              }}
            />
          </>
        );
      }}
    </FoundCommit>
  );
}

interface CommitProps {
  readonly name: string;
  readonly commit: CommitData;
  readonly hosts: readonly HostLink[];
}

function Commit({ name, commit, hosts }: CommitProps) {
  const { oid, message, author, committer, parents } = commit;
  const [subject = "", ...rest] = (message ?? "").split("\n");
  const body = rest.join("\n").trim();
  const isCommittedByOther = committer !== null && committer.person.email !== author?.person.email;
  return (
    <section class="panel commit" aria-label="Commit">
      <h1>{subject === "" ? "(no message)" : <MessageText name={name} text={subject} hosts={hosts} />}</h1>
      {body !== "" && (
        <pre class="commit-body">
          <MessageText name={name} text={body} hosts={hosts} />
        </pre>
      )}
      <p class="soft small">
        {author !== null && (
          <>
            {author.person.displayName} wrote this <When date={author.date} />
          </>
        )}
        {isCommittedByOther && (
          <>
            , and {committer.person.displayName} committed it <When date={committer.date} />
          </>
        )}
      </p>
      <p class="soft small">
        Commit <code>{oid}</code>
        {(parents ?? []).map((parent) => (
          <span key={parent.oid}>
            {" · parent "}
            <a href={pageUrl({ name, revision: "" }, "commit", parent.oid)}>
              <code>{parent.abbreviatedOID}</code>
            </a>
          </span>
        ))}
        {" · "}
        <a href={repositoryUrl({ name, revision: oid })}>Files at this commit</a>
      </p>
    </section>
  );
}
