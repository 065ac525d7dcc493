import type { ChunkMatch, StreamMatch } from "../../model/stream-events.js";

/**
 * A match object as an item of an answer: short, because assistants pay for each word. Members that are undefined are not
 * written: to leave them out by spreads of objects takes ten times as long.
 *
 * Where the path is ambiguous there is `escapedPath`, which the tools accept.
 */
export function matchItem(match: StreamMatch): object {
  const { type, repository, branches, path, escapedPath, commit, chunkMatches, symbols } = match;
  const revision = branches?.[0] === "" ? undefined : branches?.[0];
  switch (type) {
    case "repo":
      return { repository, revision, description: match.description };
    case "commit":
      return commitItem(match);
    case "symbol":
      return {
        repository,
        revision,
        path,
        escapedPath,
        symbols: (symbols ?? []).map(({ name, kind, line, containerName }) => ({
          name,
          kind: kind.toLowerCase(),
          line,
          container: containerName === "" ? undefined : containerName,
        })),
      };
    default: {
      const owner = path === undefined ? match.handle : undefined;
      const email = path === undefined ? match.email : undefined;
      const lines = chunkMatches?.flatMap(listLines);
      return { repository, revision, owner, email, path, escapedPath, commit, lines };
    }
  }
}

/** Further places of one content that an item lists. */
const placesMax = 20;

/** The items of results of which each content has its matches once; the others are listed with the first. */
export function groupedItems(matches: readonly StreamMatch[]): object[] {
  const places = new Map<string, StreamMatch[]>();
  for (const match of matches) {
    const { contentKey } = match;
    if (contentKey === undefined || match.duplicate !== true) continue;
    const known = places.get(contentKey);
    if (known === undefined) places.set(contentKey, [match]);
    else known.push(match);
  }
  const items = matches.flatMap((match) => {
    if (match.duplicate === true) return [];
    const others = places.get(match.contentKey ?? "") ?? [];
    // A file with many matches is several match objects.
    places.delete(match.contentKey ?? "");
    return [others.length === 0 ? matchItem(match) : { ...matchItem(match), ...alsoIn(others) }];
  });
  // The match object to which they refer was left out.
  return [...items, ...[...places.values()].map(([first, ...others]) => ({ ...matchItem(first), ...alsoIn(others) }))];
}

function alsoIn(others: readonly StreamMatch[]): object {
  if (others.length === 0) return {};
  return {
    also_in: others.slice(0, placesMax).map(matchItem),
    ...(others.length > placesMax ? { also_in_count: others.length } : {}),
  };
}

/** Lines of the file, counted from 1; those without a match are context. */
function listLines({ content, contentStart, contentTruncated }: ChunkMatch): object[] {
  const lines = content.split("\n");
  // The end of the last line is not the start of another one.
  if (lines.length > 1 && lines[lines.length - 1] === "") lines.pop();
  return lines.map((line, at) => ({
    line: contentStart.line + 1 + at,
    text: line,
    cut: contentTruncated === true && at === lines.length - 1 ? true : undefined,
  }));
}

function commitItem({
  repository,
  oid,
  authorName,
  authorDate,
  message,
  content,
  label,
  contentTruncated,
}: StreamMatch): object {
  const diff = content === undefined || !content.startsWith("```diff") ? undefined : withoutFence(content);
  return {
    repository,
    commit: oid ?? label,
    author: authorName,
    date: authorDate,
    message,
    diff,
    cut: diff !== undefined && contentTruncated === true ? true : undefined,
  };
}

/** The text between the first line and the last. */
function withoutFence(content: string): string {
  const start = content.indexOf("\n") + 1;
  const end = content.lastIndexOf("\n```");
  return content.slice(start, end < start ? content.length : end);
}
