import { useSignal } from "@preact/signals";
import { Found } from "../../ui/states.js";
import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { graphql } from "../../api/graphql.js";
import { mapAnswer, useGraphql } from "../../api/use-graphql.js";
import { address, navigate } from "../../route/router.js";
import { ActionError, useAction } from "../../ui/action.js";
import { FormFields } from "../../ui/form.js";
import { formatAmount, formatCount } from "../../ui/numbers.js";
import { MissingRepository } from "../found.js";
import { CommitLine, commitLineFields, type CommitSummary } from "./commit-line.js";
import { readDiffView } from "./diff-view.js";
import { fileDiffFields, FileDiffs } from "./file-diffs.js";

/** The commits that are compared: names may mean others when more is asked for. */
const rangeFields = "range { baseRevSpec { object { oid } } headRevSpec { object { oid } } }";

const compareQuery = `query Comparison($name: String!, $base: String, $head: String) {
  repository(name: $name) {
    comparison(base: $base, head: $head) {
      ${rangeFields}
      commits(first: 50) { nodes ${commitLineFields} totalCount }
    }
  }
}`;

const moreCommitsQuery = `query ComparisonCommits($name: String!, $base: String, $head: String, $first: Int!) {
  repository(name: $name) {
    comparison(base: $base, head: $head) { commits(first: $first) { nodes ${commitLineFields} totalCount } }
  }
}`;

const filesQuery = `query ComparisonFiles($name: String!, $base: String, $head: String, $ignoresSpace: Boolean!, $after: String) {
  repository(name: $name) {
    comparison(base: $base, head: $head) {
      ${rangeFields}
      fileDiffs(first: 100, ignoreWhitespace: $ignoresSpace, after: $after) ${fileDiffFields}
    }
  }
}`;

interface ComparedRange {
  readonly baseRevSpec: { readonly object: { readonly oid: string } | null } | null;
  readonly headRevSpec: { readonly object: { readonly oid: string } | null } | null;
}

/** The commits of a comparison, the newest first. */
interface CommitList {
  readonly nodes: readonly CommitSummary[];
  /** Null if there are more. */
  readonly totalCount: number | null;
}

/** `/-/compare/BASE...HEAD`: what head has that base has not. */
export function ComparePage({ path }: { readonly path: PagePath }) {
  const { name } = path;
  const [base = "", head = ""] = path.path.split(/\.{2,3}/);
  const named = { name, base: base === "" ? null : base, head: head === "" ? null : head };
  const { ignoresSpace } = readDiffView(address.value);
  const used = useGraphql("Comparison", compareQuery, named);
  const files = useGraphql("ComparisonFiles", filesQuery, { ...named, ignoresSpace, after: null });
  /** The same commits as in the first part of a list. */
  const pinned = (range: ComparedRange | null | undefined) => ({
    name,
    base: range?.baseRevSpec?.object?.oid ?? named.base,
    head: range?.headRevSpec?.object?.oid ?? named.head,
  });
  return (
    <>
      <RangeForm key={path.path} name={name} base={base} head={head} />
      <Found used={used} what="the comparison">
        {({ repository }) => {
          const comparison = repository?.comparison ?? null;
          if (comparison === null) return <MissingRepository name={name} />;
          const { commits, range } = comparison;
          return (
            <>
              <CommitPanel
                key={`commits of ${path.path}`}
                path={path}
                list={commits ?? { nodes: [], totalCount: 0 }}
                readMore={async (first) => {
                  const found = await graphql("ComparisonCommits", moreCommitsQuery, { ...pinned(range), first });
                  return found.repository?.comparison?.commits ?? null;
                }}
              />
              <FileDiffs
                key={`files of ${path.path}`}
                name={name}
                used={mapAnswer(files, ({ repository }) => repository?.comparison?.fileDiffs ?? null)}
                readMore={async (after) => {
                  const first = files.answer.kind === "ready" ? files.answer.value.repository?.comparison?.range : null;
                  const asked = { ...pinned(first), ignoresSpace, after };
                  const found = await graphql("ComparisonFiles", filesQuery, asked);
                  return found.repository?.comparison?.fileDiffs ?? null;
                }}
              />
            </>
          );
        }}
      </Found>
    </>
  );
}

const revisionsId = "compare-revisions";

/** What the fields propose; anything else that names a commit can be typed. */
const revisionsQuery = `query CompareRevisions($name: String!) {
  repository(name: $name) { gitRefs(first: 500, orderBy: AUTHORED_OR_COMMITTED_AT) { nodes { name abbrevName } } }
}`;

interface RangeFormProps {
  readonly name: string;
  readonly base: string;
  readonly head: string;
}

/** The fields for what is compared: branches, tags, or anything that names a commit. */
function RangeForm({ name, base, head }: RangeFormProps) {
  const { answer } = useGraphql("CompareRevisions", revisionsQuery, { name });
  const refs = (answer.kind === "ready" && answer.value.repository?.gitRefs?.nodes) || [];
  const show = (from: string, to: string): void =>
    navigate(pageUrl({ name, revision: "" }, "compare", `${from.trim()}...${to.trim()}`));
  return (
    <form
      class="compare-form"
      onSubmit={(event) => {
        event.preventDefault();
        const fields = new FormFields(event.currentTarget);
        show(fields.get("base"), fields.get("head"));
      }}
    >
      <datalist id={revisionsId}>
        {refs.map(({ name: ref, abbrevName }) => (
          <option key={ref} value={abbrevName} />
        ))}
      </datalist>
      <RevisionField label="Base" name="base" value={base} />
      <RevisionField label="Head" name="head" value={head} />
      <button type="submit" class="button main">
        Compare
      </button>
      <button type="button" class="button" onClick={() => show(head, base)}>
        Swap
      </button>
    </form>
  );
}

interface RevisionFieldProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
}

function RevisionField({ label, name, value }: RevisionFieldProps) {
  return (
    <label>
      <span class="soft small">{label}</span>
      <input
        class="field"
        name={name}
        defaultValue={value}
        placeholder="HEAD"
        list={revisionsId}
        autoComplete="off"
        spellcheck={false}
      />
    </label>
  );
}

interface CommitPanelProps {
  readonly path: PagePath;
  readonly list: CommitList;
  /** Reads that many of the commits. */
  readonly readMore: (first: number) => Promise<CommitList | null>;
}

function CommitPanel({ path, list, readMore }: CommitPanelProps) {
  const longer = useSignal<CommitList | undefined>(undefined);
  const action = useAction();
  const { nodes, totalCount } = longer.value ?? list;
  const showMore = (): void =>
    void action.run(async () => {
      const found = await readMore(4 * nodes.length);
      if (found !== null) longer.value = found;
    });
  return (
    <section class="panel" aria-label="Commits">
      <h1 class="panel-head">
        Commits
        <span class="soft small">
          {totalCount === null ? `more than ${formatCount(nodes.length)} commits` : formatAmount(totalCount, "commit")}
        </span>
      </h1>
      <ul class="commit-list">
        {nodes.map((commit) => (
          <li key={commit.oid}>
            <CommitLine commit={commit} place={path} />
          </li>
        ))}
      </ul>
      {totalCount === null && (
        <p class="panel-foot">
          <button type="button" class="button" disabled={action.isRunning.value} onClick={showMore}>
            More commits
          </button>
        </p>
      )}
      <ActionError action={action} />
    </section>
  );
}
