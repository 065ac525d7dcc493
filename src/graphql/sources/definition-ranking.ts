import type { ShownSymbolKind } from "../../model/symbol-kind.js";

/** What a file says about one of its names: enough to tell which of many definitions of the name is meant. */
export interface NameUse {
  readonly path: string;
  readonly language: string;
  /** 1-based; undefined if it is not known where the name is. */
  readonly line: number | undefined;
  /** Code points before it in its line. */
  readonly character?: number;
  /** The text beside the name in its line. */
  readonly before: string;
  readonly after: string;
  /** Ends of paths of what the file imports. */
  readonly imports: readonly string[];
}

/** A symbol with the name. */
export interface Candidate {
  readonly path: string;
  readonly language: string;
  readonly kind: ShownSymbolKind;
  /** 1-based. */
  readonly line: number;
  /** Code points before it in its line, if they are known. */
  readonly character?: number;
  readonly isOwnRepository: boolean;
}

/** How near a definition is to what refers to it. */
export type Nearness = "SAME_FILE" | "IMPORTED" | "SAME_REPOSITORY" | "OTHER_REPOSITORY";

export interface Ranked<T> {
  readonly candidate: T;
  readonly nearness: Nearness;
}

/** Languages whose files use each other's definitions. */
const families: readonly (readonly string[])[] = [
  ["C", "C++", "Objective-C", "Objective-C++", "Cuda", "Assembly", "Unix Assembly"],
  ["JavaScript", "TypeScript", "TSX", "JSX", "Vue", "Svelte"],
  ["Java", "Kotlin", "Scala", "Groovy"],
];

/** Whether files of these languages use each other's definitions. */
export function areRelated(one: string, other: string): boolean {
  return one === other || families.some((family) => family.includes(one) && family.includes(other));
}

/**
 * The candidates in related languages, the likeliest first. Of two, that one is likelier which is of a kind that is used like
 * this (called, after a dot, after `struct`), then the one that is nearer: in the file, imported, in the repository. What
 * others cannot see (`static` in another file of C) comes last, and before it what only stands for a function; both are known only
 * of candidates with a `signature`.
 * `isUnique` tells whether the first one stands out.
 */
export function rankDefinitions<T extends Candidate & { readonly signature?: string }>(
  candidates: readonly T[],
  use: NameUse,
): { readonly ranked: readonly Ranked<T>[]; readonly isUnique: boolean } {
  const how = howUsed(use);
  const module = qualifyingModule(use);
  const isInTest = isTest(use.path);
  const ends = byLastPart(use.imports);
  const related = candidates.filter(({ language }) => use.language === "" || areRelated(language, use.language));
  const hasGlobal = related.some((candidate) => candidate.kind === "FUNCTION" && isGlobalFunction(candidate));
  const rows = related.map((candidate) => {
    const nearness = nearnessTo(candidate, use, ends);
    return {
      candidate,
      nearness,
      order: [
        Number(isHidden(candidate, nearness, use) || isImportLine(candidate.signature)),
        Number(module !== undefined && !isOfModule(candidate.path, module)),
        fitOfKind(candidate.kind, how),
        Number(hasGlobal && nearness !== "SAME_FILE" && isStatic(candidate)),
        nearnesses.indexOf(nearness),
        Number(!isInTest && isTest(candidate.path)),
        Number(candidate.language !== use.language),
        kindRank(candidate.kind),
        lineDistance(candidate, nearness, use),
        Number(!isBaseImported(candidate.path, ends)),
        folderDistance(candidate.path, use.path),
      ],
    };
  });
  rows.sort((a, b) => compareOrders(a.order, b.order));
  const [first, second] = rows;
  const isUnique =
    first !== undefined &&
    (second === undefined ||
      compareOrders(first.order.slice(0, tellingCount), second.order.slice(0, tellingCount)) !== 0);
  return { ranked: rows.map(({ candidate, nearness }) => ({ candidate, nearness })), isUnique };
}

/** Of what the order goes by, so many tell which one is meant; the others only make one likelier. */
const tellingCount = 6;

const nearnesses: readonly Nearness[] = ["SAME_FILE", "IMPORTED", "SAME_REPOSITORY", "OTHER_REPOSITORY"];

/** Imports by their last part, with and without its extension: a file or folder can only be one with an equal last part. */
type ImportEnds = ReadonlyMap<string, readonly string[]>;

function byLastPart(imports: readonly string[]): ImportEnds {
  const ends = new Map<string, string[]>();
  for (const end of imports) {
    const last = end.slice(end.lastIndexOf("/") + 1);
    for (const key of new Set([last, withoutExtension(last)])) {
      const known = ends.get(key);
      if (known === undefined) ends.set(key, [end]);
      else known.push(end);
    }
  }
  return ends;
}

function nearnessTo({ path, isOwnRepository }: Candidate, { path: own }: NameUse, ends: ImportEnds): Nearness {
  if (!isOwnRepository) return "OTHER_REPOSITORY";
  if (path === own) return "SAME_FILE";
  const parts = path.split("/");
  const names = [parts.at(-1) ?? "", baseName(path), parts.at(-2) ?? ""];
  const isOne = names.some((name) => ends.get(name)?.some((end) => isImported(path, end)) === true);
  return isOne ? "IMPORTED" : "SAME_REPOSITORY";
}

/** Whether the import names this file, or its folder. */
function isImported(path: string, end: string): boolean {
  const whole = `/${path}`;
  if (whole.endsWith(`/${end}`)) return true;
  const wanted = `/${withoutExtension(end)}`;
  const [module, folder] = [withoutExtension(whole), whole.slice(0, whole.lastIndexOf("/"))];
  return module.endsWith(wanted) || folder.endsWith(wanted) || folder.endsWith(`/${end}`);
}

/** The `b` of `b.name` if the file imports something whose last part is `b`: the name is of this module then. */
function qualifyingModule({ before, imports }: NameUse): string | undefined {
  const qualifier = /(?:^|[^\w.$)\]])([A-Za-z_]\w*)(?:\.|::)$/.exec(before)?.[1];
  return qualifier !== undefined && imports.some((end) => baseName(end) === qualifier) ? qualifier : undefined;
}

/** Whether the file, or its folder, is the module. */
function isOfModule(path: string, module: string): boolean {
  return baseName(path) === module || path.split("/").at(-2) === module;
}

/** ctags takes what an import names for a definition. */
export function isImportLine(signature = ""): boolean {
  return /^\s*(?:import\b|from\s+\S+\s+import\b|use\s)/.test(signature);
}

/** Whether an import has the same last part: `foo.h` is often the header of `foo.c`. */
function isBaseImported(path: string, ends: ImportEnds): boolean {
  const base = baseName(path);
  return ends.get(base)?.some((end) => baseName(end) === base) === true;
}

function baseName(path: string): string {
  return withoutExtension(path.slice(path.lastIndexOf("/") + 1));
}

/** Without its last extension, if it has one that is not the whole name. */
function withoutExtension(path: string): string {
  const dot = path.lastIndexOf(".");
  return dot > path.lastIndexOf("/") + 1 ? path.slice(0, dot) : path;
}

/** A static function of C is not seen by other files, except those that include its own. */
function isHidden(
  { signature = "", language, path }: Candidate & { readonly signature?: string },
  nearness: Nearness,
  { language: used }: NameUse,
): boolean {
  return (
    nearness !== "SAME_FILE" &&
    nearness !== "IMPORTED" &&
    areRelated(used, "C") &&
    isStatic({ signature, language }) &&
    !/\.(h|hh|hpp|hxx|inc|inl)$/.test(path)
  );
}

interface Signed {
  readonly signature?: string;
  readonly language: string;
}

function isStatic({ signature = "", language }: Signed): boolean {
  return areRelated(language, "C") && /^\s*static\b/.test(signature);
}

/** Where C has a function of this kind, one in a header that is static only stands for it where it is left out. */
function isGlobalFunction({ signature = "", language }: Signed): boolean {
  return areRelated(language, "C") && signature !== "" && !/^\s*(?:static|#)/.test(signature);
}

type Usage = "call" | "member call" | "member" | "type" | "tag" | "plain";

/** How a name is used, by the text beside it. */
function howUsed({ before, after }: NameUse): Usage {
  const isCall = /^\s*(?:<[\w\s,<>[\].]{0,60}>)?\(/.test(after);
  if (/\b(?:struct|enum|union)\s+$/.test(before)) return "tag";
  if (/\b(?:class|interface|extends|implements|new|instanceof|typeof|trait|impl)\s+$/.test(before)) return "type";
  if (/(?:\.|->|::)\s*$/.test(before)) return isCall ? "member call" : "member";
  return isCall ? "call" : "plain";
}

/** What each usage refers to: kinds by how likely they are; others come after them. */
const fittingKinds: Readonly<Record<Usage, readonly string[]>> = {
  call: ["FUNCTION CLASS CONSTRUCTOR", "METHOD VARIABLE CONSTANT STRUCT"],
  "member call": ["METHOD FUNCTION CLASS CONSTRUCTOR", "FIELD PROPERTY VARIABLE CONSTANT"],
  member: ["FIELD PROPERTY METHOD ENUMMEMBER CONSTANT CLASS FUNCTION STRUCT INTERFACE ENUM"],
  type: ["CLASS INTERFACE STRUCT ENUM TYPEPARAMETER", "FUNCTION"],
  tag: ["STRUCT ENUM CLASS"],
  plain: ["CLASS INTERFACE STRUCT ENUM FUNCTION METHOD CONSTRUCTOR TYPEPARAMETER CONSTANT VARIABLE ENUMMEMBER MODULE"],
};

function fitOfKind(kind: string, how: Usage): number {
  return rankIn(fittingKinds[how], kind);
}

/** Kinds that a name usually refers to, the likeliest first. */
const kindOrder: readonly string[] = [
  "CLASS INTERFACE STRUCT ENUM FUNCTION METHOD CONSTRUCTOR TYPEPARAMETER",
  "CONSTANT VARIABLE MODULE NAMESPACE PACKAGE OPERATOR OBJECT",
  "ENUMMEMBER FIELD PROPERTY KEY",
];

/** Lower for a kind that a name more likely refers to. */
function kindRank(kind: string): number {
  return rankIn(kindOrder, kind);
}

function rankIn(order: readonly string[], kind: string): number {
  const at = order.findIndex((kinds) => kinds.split(" ").includes(kind));
  return at < 0 ? order.length : at;
}

/** In the file of the use, the last definition before it is the nearest, and that at the place itself even more so. */
function lineDistance(
  { line, character }: Candidate,
  nearness: Nearness,
  { line: used, character: usedAt }: NameUse,
): number {
  if (nearness !== "SAME_FILE" || used === undefined) return 0;
  // In `name = name`, the second one is an older one.
  if (line === used && character !== usedAt) return 1_000_000;
  return line <= used ? used - line : 1_000_000 + line;
}

function isTest(path: string): boolean {
  return /(?:^|[/_.-])(?:tests?|testing|spec|mocks?|fixtures?|examples?|samples?|vendor|third_party|selftests|tools)(?:[/_.-]|$)/i.test(
    path,
  );
}

/** The number of folders from the one path to the other. */
export function folderDistance(one: string, other: string): number {
  const [parts, folders] = [one.split("/").slice(0, -1), other.split("/").slice(0, -1)];
  let shared = 0;
  while (shared < folders.length && shared < parts.length && folders[shared] === parts[shared]) shared++;
  return folders.length + parts.length - 2 * shared;
}

function compareOrders(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return (a[i] ?? 0) - (b[i] ?? 0);
  return 0;
}
