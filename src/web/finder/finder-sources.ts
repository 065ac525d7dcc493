import { decodePath } from "../../base/path-text.js";
import { type PagePath, pageUrl } from "../../model/page-path.js";
import { requestPage } from "../api/api-error.js";
import { graphql } from "../api/graphql.js";
import { NameRanking } from "./name-ranking.js";

type Place = Pick<PagePath, "name" | "revision">;

interface KeptFiles {
  readonly url: string;
  readonly etag: string;
  readonly ranking: NameRanking;
}

/** The files that were read last: their names take a tenth of a second to prepare in a large repository. */
let kept: KeptFiles | undefined;

/** The paths of all files of a revision. They are asked for each time, and sent only if they have changed. */
export async function readFileNames(place: Place, signal: AbortSignal): Promise<NameRanking> {
  const url = `${pageUrl(place, "raw")}?list=files`;
  const response = await requestPage(url, signal);
  const etag = response.headers.get("ETag") ?? "";
  if (kept !== undefined && kept.url === url && kept.etag === etag && etag !== "") {
    await response.body?.cancel();
    return kept.ranking;
  }
  const names = parseFileNames(new Uint8Array(await response.arrayBuffer()));
  const ranking = new NameRanking(names);
  // Otherwise the browser would compile it while the first letter waits, which then takes three times as long.
  ranking.find("ea", 1);
  kept = { url, etag, ranking };
  return ranking;
}

/** A path in each line, escaped as in markup, so that none has a line end. */
export function parseFileNames(bytes: Uint8Array): readonly string[] {
  const names = decodePath(bytes).split("\n");
  names.pop();
  return names.map((name) => (name.includes("&") ? unescapeName(name) : name));
}

const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({ "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'", "&#10;": "\n", "&#13;": "\r", "&amp;": "&" }),
);

function unescapeName(name: string): string {
  return name.replace(/&(?:lt|gt|amp|#34|#39|#10|#13);/g, (escaped) => escapes.get(escaped) ?? escaped);
}

/** As many as one request gives. */
const repositoryCount = 1000;

const namesQuery = `query FinderRepositories($query: String!) {
  repositories(first: ${repositoryCount}, query: $query) { nodes { name } totalCount }
}`;

/** The names of all repositories; of those with this in their names, if there are too many for an answer. */
export async function readRepositoryNames(text: string, signal: AbortSignal): Promise<NameRanking> {
  const all = await graphql("FinderRepositories", namesQuery, { query: "" }, signal);
  const { nodes = [], totalCount = 0 } = all.repositories ?? {};
  if ((totalCount ?? 0) <= nodes.length || text === "") return new NameRanking(nodes.map(({ name }) => name));
  const some = await graphql("FinderRepositories", namesQuery, { query: text }, signal);
  return new NameRanking([...nodes, ...(some.repositories?.nodes ?? [])].map(({ name }) => name));
}
