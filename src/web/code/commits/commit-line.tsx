import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { When } from "../../route/when.js";

/** An author or committer, as GraphQL tells. */
export interface Signature {
  readonly date: string;
  readonly person: { readonly displayName: string; readonly email: string };
}

/** Fields of a `Signature`, for queries. */
export const signatureFields = "{ date person { displayName email } }";

export interface CommitSummary {
  readonly oid: string;
  readonly abbreviatedOID: string;
  readonly subject: string | null;
  readonly author: Signature | null;
}

/** Fields of a `CommitSummary`, for queries. */
export const commitLineFields = `{ oid abbreviatedOID subject author ${signatureFields} }`;

interface CommitLineProps {
  readonly commit: CommitSummary;
  readonly place: Pick<PagePath, "name">;
}

/** A commit on one line: subject, author, age. */
export function CommitLine({ commit: { oid, abbreviatedOID, subject, author }, place }: CommitLineProps) {
  return (
    <span class="commit-line">
      <a class="subject" href={pageUrl({ name: place.name, revision: "" }, "commit", oid)}>
        {subject === null || subject === "" ? "(no message)" : subject}
      </a>
      <span class="soft small">
        {author !== null && (
          <>
            {author.person.displayName} · <When date={author.date} /> ·{" "}
          </>
        )}
        <code>{abbreviatedOID}</code>
      </span>
    </span>
  );
}
