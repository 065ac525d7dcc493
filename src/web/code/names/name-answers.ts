import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { graphql } from "../../api/graphql.js";
import type { Operations } from "../../api/operation-types.js";
import type { NamePlace } from "./name-place.js";

const definitionsQuery = `query NameDefinitions($name: String!, $revision: String!, $path: String!, $line: Int!, $character: Int!) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) {
        definitions(line: $line, character: $character) {
          isUnique precision implementationCount
          nodes {
            nearness signature documentation
            symbol { kind url location { resource { path repository { name } } range { start { line } } } }
          }
        }
      }
    }
  }
}`;

const referencesQuery = `query NameReferences($name: String!, $revision: String!, $path: String!, $line: Int!, $character: Int!) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) {
        references(line: $line, character: $character) {
          matchCount limitHit precision
          files { file { path url repository { name } } lines { line preview url ranges { start end } } }
        }
      }
    }
  }
}`;

const implementationsQuery = `query NameImplementations($name: String!, $revision: String!, $path: String!, $line: Int!, $character: Int!) {
  repository(name: $name) {
    commit(rev: $revision) {
      blob(path: $path) {
        implementations(line: $line, character: $character) {
          matchCount limitHit precision
          files { file { path url repository { name } } lines { line preview url ranges { start end } } }
        }
      }
    }
  }
}`;

type Blob<Name extends "NameDefinitions" | "NameReferences"> = NonNullable<
  NonNullable<NonNullable<Operations[Name]["data"]["repository"]>["commit"]>["blob"]
>;
export type References = NonNullable<Blob<"NameReferences">["references"]>;

export interface Definition {
  readonly signature: string;
  readonly documentation: string;
  readonly kind: string;
  readonly nearness: NonNullable<Blob<"NameDefinitions">["definitions"]>["nodes"][number]["nearness"];
  readonly repository: string;
  readonly path: string;
  /** From 0. */
  readonly line: number;
  readonly url: string;
  /** Whether it is what was asked about. */
  readonly isSelf: boolean;
}

export interface Definitions {
  readonly isUnique: boolean;
  /** Whether an uploaded index says so, and not the name alone. */
  readonly isPrecise: boolean;
  readonly implementationCount: number;
  readonly list: readonly Definition[];
}

/** Answers about names of a file that is shown, so that what was seen once is there at once. */
const keptMax = 200;
const kept = new Map<string, Definitions>();

export function keptDefinitions(path: PagePath, place: NamePlace): Definitions | undefined {
  return kept.get(makeKey(path, place));
}

function makeKey({ name, revision, path }: PagePath, { line, character }: NamePlace): string {
  return JSON.stringify([name, revision, path, line, character]);
}

/** What a name may refer to, the likeliest first. */
export async function readDefinitions(
  page: PagePath,
  place: NamePlace,
  signal: AbortSignal | null,
): Promise<Definitions> {
  const key = makeKey(page, place);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const { repository } = await graphql("NameDefinitions", definitionsQuery, variables(page, place), signal);
  const found = repository?.commit?.blob?.definitions;
  const definitions: Definitions = {
    isUnique: found?.isUnique ?? false,
    isPrecise: found?.precision === "PRECISE",
    implementationCount: found?.implementationCount ?? 0,
    list: (found?.nodes ?? []).map(({ nearness, signature, documentation, symbol }) => {
      const { resource, range } = symbol.location;
      const line = range?.start.line ?? 0;
      const isOwn = resource.repository.name === page.name && !resource.path.includes("\ufffd");
      return {
        signature,
        documentation,
        kind: symbol.kind.toLowerCase(),
        nearness,
        repository: resource.repository.name,
        path: resource.path,
        line,
        // At the revision that is read, not at the commit that it is now.
        url: isOwn ? `${pageUrl(page, "blob", resource.path)}?L${line + 1}` : symbol.url,
        isSelf: isOwn && resource.path === page.path && line === place.line,
      };
    }),
  };
  kept.set(key, definitions);
  for (const oldest of kept.keys()) {
    if (kept.size <= keptMax) break;
    kept.delete(oldest);
  }
  return definitions;
}

export async function readReferences(
  page: PagePath,
  place: NamePlace,
  signal: AbortSignal,
): Promise<References | undefined> {
  const { repository } = await graphql("NameReferences", referencesQuery, variables(page, place), signal);
  return repository?.commit?.blob?.references ?? undefined;
}

export async function readImplementations(
  page: PagePath,
  place: NamePlace,
  signal: AbortSignal,
): Promise<References | undefined> {
  const { repository } = await graphql("NameImplementations", implementationsQuery, variables(page, place), signal);
  return repository?.commit?.blob?.implementations ?? undefined;
}

function variables({ name, revision, path }: PagePath, { line, character }: NamePlace) {
  return { name, revision, path, line, character };
}

type FileReferences = References["files"][number];

/** The uses in a repository, with how many they are. */
interface ReferenceGroup {
  readonly repository: string;
  readonly count: number;
  readonly files: readonly FileReferences[];
}

/** Uses by repository, in their order: those in files whose repository and path have a text, regardless of case. */
export function groupReferences(files: readonly FileReferences[], part: string): readonly ReferenceGroup[] {
  const wanted = part.trim().toLowerCase();
  const groups = new Map<string, FileReferences[]>();
  for (const one of files) {
    const { path, repository } = one.file;
    if (!`${repository.name}/${path}`.toLowerCase().includes(wanted)) continue;
    const known = groups.get(repository.name);
    if (known === undefined) groups.set(repository.name, [one]);
    else known.push(one);
  }
  return [...groups].map(([repository, found]) => ({
    repository,
    count: found.reduce((sum, one) => sum + countUses(one), 0),
    files: found,
  }));
}

/** Of a long line, only uses in the part that is shown have ranges; it has one at least. */
export function countUses({ lines }: Pick<FileReferences, "lines">): number {
  return lines.reduce((sum, { ranges }) => sum + Math.max(1, ranges.length), 0);
}

/** A part of a text, as it is written or as code. */
interface TextPart {
  readonly isCode: boolean;
  readonly part: string;
}

/**
 * The code in a text as comments and Markdown have it: blocks between lines with three backticks, and words between single ones.
 * Everything else stays as it is written.
 */
export function textWithCode(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  // What is before `plainFrom` is in a part, and what is before `at` was looked at.
  let plainFrom = 0;
  let at = 0;
  for (let open = text.indexOf("`"); open >= 0; open = text.indexOf("`", at)) {
    const mark = text.startsWith("```", open) ? "```" : "`";
    at = open + mark.length;
    const close = text.indexOf(mark, at);
    const inner = close < 0 ? "" : text.slice(at, close);
    // A backtick without another one in its line is no mark; nor are two that have nothing between them.
    if (inner === "" || (mark === "`" && inner.includes("\n"))) continue;
    if (open > plainFrom) parts.push({ isCode: false, part: text.slice(plainFrom, open) });
    // The first line of a block names its language.
    parts.push({ isCode: true, part: mark === "`" ? inner : inner.slice(inner.indexOf("\n") + 1).trimEnd() });
    at = plainFrom = close + mark.length;
  }
  if (plainFrom < text.length) parts.push({ isCode: false, part: text.slice(plainFrom) });
  return parts;
}
