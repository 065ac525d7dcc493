import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import type { DaemonProcess } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import type { Owner } from "../support/shared.js";
import type { CaseRepository } from "./corpus.js";
import { contexts } from "./repositories.js";

// The cases as a daemon is asked them: its repositories, and its answers in the form in which the table has them.

/** The repository as a configuration has it. */
export function configured(t: Owner, repository: CaseRepository): object {
  const { branches, files, tags, ...known } = repository;
  return { ...known, url: fixtureOf(t, repository).path, branches: branches.slice(1) };
}

export const configuredContexts = contexts.map((context) =>
  context.query === "" ? context : { ...context, repositories: undefined },
);

/** One commit for each branch and author. */
function fixtureOf(t: Owner, { branches, files, tags = {} }: CaseRepository): GitFixture {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  for (const branch of branches) {
    const there = files.filter((file) => file.branches.includes(branch));
    for (const author of new Set([undefined, ...there.map((file) => file.author)])) {
      const written = there
        .filter((file) => file.author === author)
        .map(({ path, content }) => [path, content] as const);
      fixture.commit({
        branch,
        files: written,
        ...(author === undefined ? {} : { author: `${author} 1700000000 +0000` }),
      });
    }
  }
  for (const [tag, branch] of Object.entries(tags)) fixture.tag(tag, fixture.git("rev-parse", `refs/heads/${branch}`));
  return fixture;
}

/** One string for each result; the match objects of one file are one result. */
export function answersOf(matches: readonly StreamMatch[]): string[] {
  const linesOf = new Map<string, Set<number>>();
  for (const { repository, handle, email, path, branches, lineMatches } of matches) {
    const revision = branches?.[0] ?? "";
    const name = [
      repository ?? `owner:${handle === "" ? email : `@${handle}`}`,
      ...(revision === "" ? [] : [`@${revision}`]),
      ...(path === undefined ? [] : [`:${path}`]),
    ].join("");
    const lines = linesOf.get(name) ?? new Set();
    for (const { lineNumber } of lineMatches ?? []) lines.add(lineNumber + 1);
    linesOf.set(name, lines);
  }
  return [...linesOf].map(([name, lines]) => {
    const ordered = [...lines].sort((a, b) => a - b);
    return ordered.length === 0 ? name : `${name}:${ordered.map((line) => `L${line}`).join(",")}`;
  });
}

/** The answers sorted; one that begins as a wanted one with "…" is shown as that. */
export function comparable(answers: readonly string[], want: readonly string[]): readonly string[] {
  const beginnings = want.filter((text) => text.endsWith("…"));
  return answers
    .map((answer) => beginnings.find((beginning) => answer.startsWith(beginning.slice(0, -1))) ?? answer)
    .sort();
}

export async function ask(
  daemon: DaemonProcess,
  query: string,
  request: string,
): Promise<{ readonly found: string[]; readonly skipped: readonly string[] }> {
  const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ q: query })}&${request}`);
  const matches: StreamMatch[] = [];
  const found: string[] = [];
  let skipped: readonly string[] = [];
  for (const { name, data } of new SseDecoder().push(Buffer.from(text))) {
    const value: unknown = JSON.parse(data);
    if (name === "matches") matches.push(...(value as StreamMatch[]));
    if (name === "progress") skipped = (value as { skipped: { reason: string }[] }).skipped.map(({ reason }) => reason);
    if (name === "alert") found.push(alertText(value as { title: string; description?: string }));
    if (name === "error") found.push(`error: ${(value as { message: string }).message}`);
  }
  return { found: [...answersOf(matches), ...found], skipped };
}

function alertText({ title, description }: { readonly title: string; readonly description?: string }): string {
  return description === undefined ? `alert: ${title}` : `alert: ${title}: ${description}`;
}
