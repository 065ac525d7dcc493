import type { Resolution } from "./repository-resolver.js";

/** A message to the user, as the stream carries it. */
export interface Alert {
  readonly title: string;
  readonly description?: string;
  readonly proposedQueries: readonly { readonly description?: string; readonly query: string }[] | null;
}

const listedRevisionsMax = 10;

/** What the alert about repositories and revisions is chosen from. */
export interface AlertSource {
  readonly queryText: string;
  readonly patternType: string;
  readonly resolutions: readonly Resolution[];
  readonly repositoryCount: number;
  readonly hasResults: boolean;
  /** Milliseconds that the search took when its time ran out, else undefined. */
  readonly timedOutAfterMs: number | undefined;
}

/** The one alert to show: the most important that applies. */
export function chooseAlert(source: AlertSource): Alert | undefined {
  return missingRevisionsAlert(source) ?? timeoutAlert(source) ?? nothingConfiguredAlert(source) ?? noRepositoriesAlert(source);
}

function missingRevisionsAlert({ resolutions }: AlertSource): Alert | undefined {
  const missing = resolutions.flatMap((resolution) => resolution.missingRevisions);
  if (missing.length === 0) return undefined;
  const title = "Some repositories could not be searched";
  if (missing.length === 1) {
    const [{ repository, revision }] = missing;
    return {
      title, proposedQueries: null,
      description: `The repository ${repository} matched by your repo: filter could not be searched because it does not contain the revision "${revision}", or that revision is not indexed.`,
    };
  }
  const lines = missing.slice(0, listedRevisionsMax).map(({ repository, revision }) => `* ${repository}@${revision}`);
  const rest = missing.length > listedRevisionsMax ? ["* ..."] : [];
  return {
    title, proposedQueries: null,
    description: [`${missing.length} repositories matched by your repo: filter could not be searched because the following revisions do not exist, are not indexed, or differ but were specified for the same repository:`, ...lines, ...rest].join("\n"),
  };
}

function timeoutAlert({ timedOutAfterMs, hasResults, queryText, patternType }: AlertSource): Alert | undefined {
  if (timedOutAfterMs === undefined || hasResults) return undefined;
  const seconds = Math.ceil((timedOutAfterMs * 2) / 1000);
  const query = queryText.replace(/\btimeout:\S+\s*/i, "");
  return {
    title: "Timed out while searching",
    description: `We weren't able to find any results in ${Math.round(timedOutAfterMs)} ms.`,
    proposedQueries: [{ description: "query with longer timeout", query: `timeout:${seconds}s ${query} patternType:${patternType}` }],
  };
}

function nothingConfiguredAlert({ repositoryCount }: AlertSource): Alert | undefined {
  if (repositoryCount > 0) return undefined;
  return {
    title: "No repositories or code hosts configured",
    description: "Add one with `trawl repo add NAME URL`, or list repositories in the configuration file.",
    proposedQueries: null,
  };
}

function noRepositoriesAlert({ resolutions, hasResults, queryText, patternType }: AlertSource): Alert | undefined {
  if (hasResults || resolutions.some((resolution) => resolution.repositories.length > 0)) return undefined;
  const title = "No repositories found";
  const proposals: { description: string; query: string }[] = [];
  if (resolutions.some((resolution) => resolution.excludedForkCount > 0)) {
    proposals.push({ description: "include forked repositories in your query.", query: `${queryText} fork:yes patternType:${patternType}` });
  }
  if (resolutions.some((resolution) => resolution.excludedArchivedCount > 0)) {
    proposals.push({ description: "include archived repositories in your query.", query: `${queryText} archived:yes patternType:${patternType}` });
  }
  if (proposals.length > 0) {
    return { title, description: "Try altering the query or use a different `repo:<regexp>` filter to see results", proposedQueries: proposals };
  }
  return { title, description: "Try using a different `repo:<regexp>` filter to see results", proposedQueries: null };
}
