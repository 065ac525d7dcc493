import { decodePath } from "../../base/path-text.js";
import { type PagePath, pageUrl } from "../../model/page-path.js";
import { requestPage } from "../api/api-error.js";
import { graphql } from "../api/graphql.js";
import { doInSlices, finish, type Work } from "../ui/slices.js";
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
  const names = await doInSlices(readNames(new Uint8Array(await response.arrayBuffer())), signal);
  const ranking = new NameRanking(names);
  // Otherwise the browser would compile it while the first letter waits, which then takes three times as long.
  await doInSlices(ranking.search("ea", 1), signal);
  kept = { url, etag, ranking };
  return ranking;
}

/** A path in each line, escaped as in markup, so that none has a line end. */
export function parseFileNames(bytes: Uint8Array): readonly string[] {
  return finish(readNames(bytes));
}

const linesAtOnce = 512;

function* readNames(bytes: Uint8Array): Work<readonly string[]> {
  const text = decodePath(bytes);
  const names: string[] = [];
  for (let from = 0; ; ) {
    const end = text.indexOf("\n", from);
    if (end < 0) return names;
    const name = text.slice(from, end);
    names.push(name.includes("&") ? unescapeName(name) : name);
    from = end + 1;
    if (names.length % linesAtOnce === 0) yield;
  }
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

interface FirstNames {
  readonly names: readonly string[];
  readonly areAll: boolean;
  readonly ranking: NameRanking;
}

/** The names of all repositories; of those with a text in their names, if there are too many for an answer. */
export class RepositoryNames {
  /** Asked for once while the finder is open. */
  #first: FirstNames | undefined;

  async read(text: string, signal: AbortSignal): Promise<NameRanking> {
    this.#first ??= await readFirst(signal);
    const { names, areAll, ranking } = this.#first;
    if (areAll || text === "") return ranking;
    const some = await graphql("FinderRepositories", namesQuery, { query: text }, signal);
    const found = some.repositories?.nodes.map(({ name }) => name) ?? [];
    return new NameRanking([...new Set([...names, ...found])]);
  }
}

async function readFirst(signal: AbortSignal): Promise<FirstNames> {
  const { repositories } = await graphql("FinderRepositories", namesQuery, { query: "" }, signal);
  const names = repositories?.nodes.map(({ name }) => name) ?? [];
  return { names, areAll: (repositories?.totalCount ?? 0) <= names.length, ranking: new NameRanking(names) };
}
