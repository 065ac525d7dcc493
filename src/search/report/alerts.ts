import { QueryError } from "../../query/syntax/query-error.js";
import type { Alert, ProposedQuery } from "../../model/stream-events.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import { type Rewrite, rewriteQuery } from "../../query/plan/rewrite.js";
import type { MissingRevision, SearchPart } from "../source/search-part.js";
import { errorMessage, errorTable, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { originFields } from "../../model/request-origin.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { SearchListener } from "../../model/search-listener.js";
import { leftOut } from "./near-results.js";

const listedRevisionsMax = 10;

/** What the sources of a search say that an alert is about. */
export type AlertPart = Pick<
  SearchPart,
  | "visibleCount"
  | "choices"
  | "missingRevisions"
  | "missingRevisionRepositoryCount"
  | "excluded"
  | "excludedForkCount"
  | "excludedArchivedCount"
>;

/** The data from which the alert of a completed search is chosen. */
export interface AlertSource {
  readonly queryText: string;
  readonly plan: SearchPlan;
  readonly part: AlertPart;
  /** Results of `select:file.owners` without an owner. */
  readonly unownedResults: number;
  readonly hasResults: boolean;
  /** What may have been meant by a query that found nothing. */
  readonly near?: Alert | undefined;
  /** Milliseconds that the search took if it timed out, otherwise undefined. */
  readonly timedOutAfterMs: number | undefined;
}

/** The alert to show: the first applicable one, in order of importance. */
export function chooseAlert(source: AlertSource): Alert | undefined {
  return (
    missingRevisionsAlert(source) ??
    excludedAlert(source) ??
    timeoutAlert(source) ??
    nothingConfiguredAlert(source) ??
    noRepositoriesAlert(source) ??
    structuralHint(source) ??
    unownedAlert(source) ??
    source.near
  );
}

/** For a query that turned out to be invalid when it ran. */
export function queryErrorAlert(sentence: string): Alert {
  return {
    title: "Unable To Process Query",
    description: sentence.charAt(0).toUpperCase() + sentence.slice(1),
    proposedQueries: null,
  };
}

function missingRevisionsAlert({ part }: AlertSource): Alert | undefined {
  const { missingRevisions, missingRevisionRepositoryCount: count } = part;
  if (missingRevisions.count === 0) return undefined;
  const title = "Some repositories could not be searched";
  if (missingRevisions.count === 1) {
    const [{ repository, revision, isAmbiguous }] = missingRevisions.first;
    if (isAmbiguous === true) {
      const description = `The repository ${repository} matched by your repo: filter could not be searched because the commit id "${revision}" is ambiguous: several commits begin with it. Write more of its digits.`;
      return { title, proposedQueries: null, description };
    }
    return {
      title,
      proposedQueries: null,
      description: `The repository ${repository} matched by your repo: filter could not be searched because it does not contain the revision "${revision}".`,
    };
  }
  const lines = missingRevisions.first.slice(0, listedRevisionsMax).map(printMissing);
  const rest = missingRevisions.count > listedRevisionsMax ? ["* ..."] : [];
  return {
    title,
    proposedQueries: null,
    description: [
      `${count} ${count === 1 ? "repository" : "repositories"} matched by your repo: filter could not be searched because the following revisions do not exist, or differ but were specified for the same repository:`,
      ...lines,
      ...rest,
    ].join("\n"),
  };
}

function printMissing({ repository, revision, isAmbiguous }: MissingRevision): string {
  return `* ${repository}@${revision}${isAmbiguous === true ? " (ambiguous)" : ""}`;
}

function excludedAlert({ part: { excluded } }: AlertSource): Alert | undefined {
  if (excluded.count === 0) return undefined;
  const lines = excluded.first
    .slice(0, listedRevisionsMax)
    .map(({ repository, reason }) => `* ${repository}: ${reason}`);
  const count = excluded.count === 1 ? "one repository" : `${excluded.count} repositories`;
  const why = excluded.first.some(({ isOfLostNode }) => isOfLostNode === true)
    ? "Nodes that have repositories could not be searched to the end. These are the results of the others:"
    : `Histories or owners that the query refers to could not be read for ${count}. Narrow the query with \`repo:\`, or use a longer \`timeout:\`:`;
  return {
    title: "Some repositories could not be searched",
    proposedQueries: null,
    description: [why, ...lines, ...(excluded.count > listedRevisionsMax ? ["* ..."] : [])].join("\n"),
  };
}

function unownedAlert({ unownedResults }: AlertSource): Alert | undefined {
  if (unownedResults === 0) return undefined;
  return {
    title: "Some results have no owners",
    proposedQueries: null,
    description: "For some results there is no CODEOWNERS file, or no matching rule in it names an owner.",
  };
}

/** A proposed timeout is at least as long. */
const proposedSecondsMin = 2;

function timeoutAlert(source: AlertSource): Alert | undefined {
  const { timedOutAfterMs, hasResults } = source;
  if (timedOutAfterMs === undefined || hasResults) return undefined;
  const seconds = Math.max(proposedSecondsMin, Math.ceil((timedOutAfterMs * 2) / 1000));
  return {
    title: "Timed out while searching",
    description: `We weren't able to find any results in ${shownDuration(timedOutAfterMs)}.`,
    proposedQueries: [
      propose(source, "query with longer timeout", { without: ["timeout"], before: `timeout:${seconds}s`, after: "" }),
    ],
  };
}

function shownDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

function nothingConfiguredAlert({ part: { visibleCount } }: AlertSource): Alert | undefined {
  if (visibleCount > 0) return undefined;
  return {
    title: "No repositories or code hosts configured",
    description: "Add one with `trawl repo add NAME URL`, or list repositories in the configuration file.",
    proposedQueries: null,
  };
}

function noRepositoriesAlert(source: AlertSource): Alert | undefined {
  const { plan, part, hasResults } = source;
  if (hasResults || part.choices.some(({ chosen }) => chosen > 0)) return undefined;
  const excluding = excludingProposals(source);
  if (excluding.length > 0) {
    const description = "Try altering the query or use a different `repo:<regexp>` filter to see results";
    return { title: "No repositories found", description, proposedQueries: excluding };
  }
  const [{ context, include }] = plan.basicQueries.map(({ repositories }) => repositories);
  if (context !== undefined && include.some(({ source: name }) => name !== "")) {
    const rewrite: Rewrite = { without: ["context"], before: "context:global", after: "" };
    return {
      title: `No repositories found for your query within the context ${context}`,
      proposedQueries: [propose(source, "search in the global context", rewrite)],
    };
  }
  return {
    title: "No repositories found",
    description: "Try using a different `repo:<regexp>` filter to see results",
    proposedQueries: source.near?.proposedQueries ?? null,
  };
}

/**
 * Proposed queries that include the excluded forks or archived repositories, if no part of the query mentions these.
 */
function excludingProposals(source: AlertSource): ProposedQuery[] {
  const { forks, archived } = leftOut(source.plan, source.part);
  return [
    ...(forks
      ? [propose(source, "include forked repositories in your query.", { without: [], before: "", after: "fork:yes" })]
      : []),
    ...(archived
      ? [
          propose(source, "include archived repositories in your query.", {
            without: [],
            before: "",
            after: "archived:yes",
          }),
        ]
      : []),
  ];
}

/** Holes in structural queries: `:[x]`, `:[[x]]`, `:[x.]`, `:[x\\n]` and `:[ x]`. */
const hole = /:\[\w+(?:\.|\\n)?\]|:\[\[\w+\]\]|:\[ +\w*\]/;

/**
 * A hole is plain text here, which is rarely what was meant if it finds nothing. The alert is part of the interface:
 * clients recognize it by its text. The query that it proposes is answered with the reason why it is not supported.
 */
function structuralHint(source: AlertSource): Alert | undefined {
  if (source.hasResults || !hole.test(source.queryText)) return undefined;
  return {
    title: "No results",
    description:
      "It looks like you're trying to run a structural search, but it is not enabled using the patterntype keyword or UI toggle.",
    proposedQueries: [
      {
        description: "Activate structural search",
        query: rewriteQuery(source.queryText, "structural", false, { without: [], before: "", after: "" }),
      },
    ],
  };
}

function propose({ queryText, plan }: AlertSource, description: string, rewrite: Rewrite): ProposedQuery {
  return { description, query: rewriteQuery(queryText, plan.patternType, plan.basicQueries.length > 1, rewrite) };
}

/** The alert about an invalid query. */
function toAlert({ title, description, from, to }: QueryError): Alert {
  return { title, description, proposedQueries: null, place: { from, to } };
}

/** Limit on the logged length of a query. */
const loggedLength = 200;

/** Reports an invalid query or another error, instead of running a search. */
export function answerError(
  { query, origin }: Pick<SearchRequest, "query" | "origin">,
  listener: SearchListener,
  error: unknown,
  log: Log,
): void {
  const shown = { ...originFields(origin), query: query.slice(0, loggedLength) };
  if (error instanceof QueryError) {
    // Text typed by a client is not worth logging, and may be long or private.
    log.debug(shown, error.title);
    listener.alert(toAlert(error));
  } else {
    const level = error instanceof TrawlError ? error.level : errorTable.internal.level;
    log[level](shown, errorMessage(error));
    listener.error(errorMessage(error));
  }
  listener.done();
}
