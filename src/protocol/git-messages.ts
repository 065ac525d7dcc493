import type { BlameHunk, BlameRequest } from "../git/history/blame.js";
import type { CommitData, Contributor, HistoryRequest } from "../git/history/commits.js";
import type { EntryData } from "../git/objects/directories.js";
import type { FileDiffData } from "../git/history/file-diffs.js";
import type { RefData } from "../git/mirror/ref-list.js";

/** What GraphQL asks read workers of one repository. */
export interface GitReadKinds {
  "read-commits": { readonly request: ReadCommits; readonly answer: { readonly commits: readonly CommitData[] } };
  "list-history": { readonly request: ListHistory; readonly answer: { readonly commits: readonly CommitData[] } };
  "find-first-commit": { readonly request: FindFirstCommit; readonly answer: { readonly commit: string | null } };
  "list-contributors": {
    readonly request: ListContributors;
    readonly answer: { readonly contributors: readonly Contributor[]; readonly totalCount: number };
  };
  "compare-commits": { readonly request: CompareCommits; readonly answer: CommitComparison };
  "list-refs": {
    readonly request: ListRefs;
    readonly answer: { readonly refs: readonly RefData[]; readonly totalCount: number };
  };
  "read-entries": {
    readonly request: ReadEntries;
    readonly answer: { readonly entries: readonly (EntryData | null)[] };
  };
  "list-directory": {
    readonly request: ListDirectory;
    readonly answer: { readonly entries: readonly EntryData[]; readonly totalCount: number };
  };
  "print-directory": { readonly request: PrintDirectory; readonly answer: { readonly text: Uint8Array } };
  "list-file-names": { readonly request: ListFileNames; readonly answer: { readonly names: readonly string[] } };
  "read-files": { readonly request: ReadFiles; readonly answer: { readonly files: readonly FileAnswer[] } };
  "read-diff": { readonly request: ReadDiff; readonly answer: DiffPage };
  "read-blame": {
    readonly request: ReadBlame;
    readonly answer: { readonly hunks: readonly BlameHunk[]; readonly startByte: number };
  };
  "count-languages": {
    readonly request: CountLanguages;
    readonly answer: { readonly languages: readonly LanguageCount[] };
  };
  "read-submodules": {
    readonly request: ReadSubmodules;
    readonly answer: { readonly urls: ReadonlyMap<string, string> };
  };
}

interface OfRepository {
  readonly repositoryId: number;
}

export interface ReadCommits extends OfRepository {
  readonly kind: "read-commits";
  readonly oids: readonly string[];
}

export interface ListHistory extends OfRepository {
  readonly kind: "list-history";
  readonly history: HistoryRequest;
}

export interface FindFirstCommit extends OfRepository {
  readonly kind: "find-first-commit";
  readonly commit: string;
}

export interface ListContributors extends OfRepository {
  readonly kind: "list-contributors";
  readonly from: readonly string[];
  readonly without: readonly string[];
  readonly path: string;
  readonly after: string;
  readonly skipCount: number;
  readonly countMax: number;
}

export interface CompareCommits extends OfRepository {
  readonly kind: "compare-commits";
  readonly base: string;
  readonly head: string;
}

export interface CommitComparison {
  readonly mergeBase: string | null;
  /** Commits that only head has, and that only base has. */
  readonly aheadCount: number;
  readonly behindCount: number;
}

export interface ListRefs extends OfRepository {
  readonly kind: "list-refs";
  /** Full names begin with one of these. */
  readonly prefixes: readonly string[];
  /** In lower case, part of the name without its prefix. */
  readonly nameText: string;
  readonly order: "name" | "newest";
  readonly countMax: number;
}

export interface ReadEntries extends OfRepository {
  readonly kind: "read-entries";
  readonly commit: string;
  readonly paths: readonly string[];
}

export interface ListDirectory extends OfRepository {
  readonly kind: "list-directory";
  readonly commit: string;
  readonly path: string;
  readonly recursive: boolean;
  /** All kinds when empty. */
  readonly entryKinds: readonly EntryData["kind"][];
  readonly countMax: number;
}

/** Names, a line for each, directories with a slash behind them; in git's order. */
export interface PrintDirectory extends OfRepository {
  readonly kind: "print-directory";
  readonly commit: string;
  readonly path: string;
  /** Refused with `bad-request` when it has more. */
  readonly byteCountMax: number;
}

export interface ListFileNames extends OfRepository {
  readonly kind: "list-file-names";
  readonly commit: string;
  readonly countMax: number;
}

export interface ReadFiles extends OfRepository {
  readonly kind: "read-files";
  readonly files: readonly WantedFile[];
}

/** What is wanted of a file: its attributes alone, with its text, or with its text as rows of an HTML table. */
export type FileForm =
  | { readonly kind: "attributes" | "text" | "plain-html" }
  /** With words highlighted. `patient` allows more time. */
  | { readonly kind: "html"; readonly longLines: boolean; readonly patient: boolean };

/** A file and what is wanted of it. */
export interface WantedFile {
  readonly oid: string;
  readonly path: string;
  readonly form: FileForm;
  /** Lines, counted from 1, both included; undefined for the first and the last. */
  readonly startLine: number | undefined;
  readonly endLine: number | undefined;
}

export type FileAnswer =
  | {
      readonly kind: "file";
      readonly byteCount: number;
      readonly isBinary: boolean;
      /** 0 for a binary file. */
      readonly lineCount: number;
      /** "" when not known. */
      readonly language: string;
      /** "" when only attributes were wanted, and for a binary file. For HTML a row of a table for each line. */
      readonly text: string;
      /** Whether highlighting was given up. */
      readonly aborted: boolean;
    }
  | { readonly kind: "too-large"; readonly byteCount: number }
  | { readonly kind: "missing" };

/** Texts that a request holds or that were read for it, to be made HTML. */
export interface HighlightTexts {
  readonly kind: "highlight-texts";
  readonly texts: readonly TextToHighlight[];
  readonly patient: boolean;
}

export interface TextToHighlight {
  readonly text: string;
  /** Tells the language when `language` is "". */
  readonly path: string;
  /** A name, an alias, or the ending of its files. */
  readonly language: string;
  /** Whether lines of any length are highlighted. */
  readonly longLines: boolean;
}

export interface HighlightedText {
  /** HTML, without the ends of lines. */
  readonly lines: readonly string[];
  /** Whether it was given up, and the lines are plain. */
  readonly aborted: boolean;
}

export interface ReadDiff extends OfRepository {
  readonly kind: "read-diff";
  readonly base: string | null;
  readonly head: string;
  readonly paths: readonly string[];
  readonly skipCount: number;
  readonly countMax: number;
  /** Whether the text of the whole difference is wanted. */
  readonly withPatch: boolean;
}

export interface DiffPage {
  readonly files: readonly FileDiffData[];
  readonly totalCount: number;
  /** Of all files. */
  readonly addedCount: number;
  readonly deletedCount: number;
  /** "" when not wanted. */
  readonly patch: string;
}

export interface ReadBlame extends OfRepository {
  readonly kind: "read-blame";
  readonly blame: BlameRequest;
}

export interface CountLanguages extends OfRepository {
  readonly kind: "count-languages";
  readonly commit: string;
  /** Counting lines means reading every file. */
  readonly withLines: boolean;
}

export interface LanguageCount {
  readonly name: string;
  readonly byteCount: number;
  /** 0 when not wanted. */
  readonly lineCount: number;
}

export interface ReadSubmodules extends OfRepository {
  readonly kind: "read-submodules";
  readonly commit: string;
}

export type GitReadKind = keyof GitReadKinds;
export type GitReadRequest = GitReadKinds[GitReadKind]["request"];
export type GitReadAnswer<Kind extends GitReadKind> = GitReadKinds[Kind]["answer"];
