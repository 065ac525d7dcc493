import type { BlameHunk, BlameRequest } from "../git/history/blame.js";
import type { CommitData, Contributor, HistoryRequest } from "../git/history/commits.js";
import type { EntryData } from "../git/objects/directories.js";
import type { DiffRequest, FileDiffData } from "../git/history/file-diffs.js";
import type { LastCommits, UnchangedEntries } from "../git/history/last-commits.js";
import type { RefData } from "../git/mirror/read-refs.js";
import type { FindPrecise, FindSymbols, FoundSymbols, PreciseAnswer } from "./precise-messages.js";
import type { SymbolMatch } from "../model/stream-events.js";
import type { ShownSymbolKind } from "../model/symbol-kind.js";

/** GraphQL's requests to read workers, each about one repository. */
export interface GitReadKinds {
  "read-commits": { readonly request: ReadCommits; readonly answer: { readonly commits: readonly CommitData[] } };
  "has-commit": { readonly request: HasCommit; readonly answer: { readonly isStored: boolean } };
  "list-history": { readonly request: ListHistory; readonly answer: { readonly commits: readonly CommitData[] } };
  /** The oids as bytes, one after the other. */
  "list-history-oids": { readonly request: ListHistoryOids; readonly answer: { readonly oids: Uint8Array } };
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
  "read-last-commits": { readonly request: ReadLastCommits; readonly answer: LastCommits };
  "print-directory": { readonly request: PrintDirectory; readonly answer: { readonly text: Uint8Array } };
  "list-file-names": { readonly request: ListFileNames; readonly answer: { readonly names: readonly string[] } };
  "read-files": { readonly request: ReadFiles; readonly answer: { readonly files: readonly FileAnswer[] } };
  "list-symbols": { readonly request: ListSymbols; readonly answer: ListedSymbols };
  "list-occurrences": { readonly request: ListOccurrences; readonly answer: ListedOccurrences };
  "find-symbols": { readonly request: FindSymbols; readonly answer: FoundSymbols };
  "find-precise": { readonly request: FindPrecise; readonly answer: PreciseAnswer };
  "read-diff": { readonly request: ReadDiff; readonly answer: DiffPage };
  "read-blame": {
    readonly request: ReadBlame;
    readonly answer: { readonly hunks: readonly BlameHunk[]; readonly startByte: number };
  };
  "count-languages": {
    readonly request: CountLanguages;
    readonly answer: { readonly languages: readonly LanguageCount[] };
  };
  /** What has the contents of a commit: another one with those of its submodules, or the commit itself. */
  "find-content-commit": { readonly request: FindContentCommit; readonly answer: { readonly commit: string } };
  "find-owners": { readonly request: FindOwners; readonly answer: FoundOwners };
  "read-submodules": {
    readonly request: ReadSubmodules;
    readonly answer: { readonly urls: ReadonlyMap<string, string> };
  };
}

interface OfRepository {
  readonly repositoryId: number;
}

export interface HasCommit extends OfRepository {
  readonly kind: "has-commit";
  /** In full. */
  readonly oid: string;
}

export interface FindContentCommit extends OfRepository {
  readonly kind: "find-content-commit";
  readonly commit: string;
}

export interface FindOwners extends OfRepository {
  readonly kind: "find-owners";
  readonly commit: string;
  readonly path: string;
  /** The text of the rules that apply if the commit has no CODEOWNERS file. */
  readonly otherwise: string;
}

/** The owners of a file, and the rule that names them. */
export interface FoundOwners {
  readonly owners: readonly { readonly kind: "handle" | "email"; readonly text: string }[];
  /** The path of the CODEOWNERS file; "" if no rule matches, or if it is not in the repository. */
  readonly file: string;
  /** 1-based; 0 if no rule matches. */
  readonly line: number;
  /** The pattern as written. */
  readonly pattern: string;
}

export interface ReadCommits extends OfRepository {
  readonly kind: "read-commits";
  readonly oids: readonly string[];
}

/** The properties of a request for a history of which nothing is filtered out or skipped. */
export const unfilteredHistory = {
  without: [],
  messageText: "",
  author: "",
  path: "",
  follow: false,
  after: "",
  before: "",
  skipCount: 0,
} as const satisfies Omit<HistoryRequest, "from" | "countMax">;

export interface ListHistory extends OfRepository {
  readonly kind: "list-history";
  readonly history: HistoryRequest;
}

export interface ListHistoryOids extends OfRepository {
  readonly kind: "list-history-oids";
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
  /** Commits that only head has, and commits that only base has. */
  readonly aheadCount: number;
  readonly behindCount: number;
}

export interface ListRefs extends OfRepository {
  readonly kind: "list-refs";
  /** Full names begin with one of these. */
  readonly prefixes: readonly string[];
  /** In lower case; matches part of the name without its prefix. */
  readonly nameText: string;
  readonly order: "name" | "newest";
  readonly skipCount: number;
  readonly countMax: number;
}

/** A request about the files of a commit. */
interface OfFiles extends OfRepository {
  /** See `Repository`. */
  readonly lfsTree: string | undefined;
}

export interface ReadEntries extends OfFiles {
  readonly kind: "read-entries";
  readonly commit: string;
  readonly paths: readonly string[];
}

export interface ListDirectory extends OfFiles {
  readonly kind: "list-directory";
  readonly commit: string;
  readonly path: string;
  readonly recursive: boolean;
  /** All kinds if empty. */
  readonly entryKinds: readonly EntryData["kind"][];
  readonly countMax: number;
}

export interface ReadLastCommits extends OfRepository {
  readonly kind: "read-last-commits";
  /** The directory; "" is the root. */
  readonly path: string;
  /** A commit at which all entries of the directory are looked for, or what an earlier read left. */
  readonly from: string | readonly UnchangedEntries[];
  /** After this time the read answers what it found. */
  readonly timeMs: number;
}

/**
 * Names, one per line, with a slash after directories; in git's order. `recursive`: instead the paths of all files and
 * submodules below it, from the root.
 */
export interface PrintDirectory extends OfRepository {
  readonly kind: "print-directory";
  readonly commit: string;
  readonly path: string;
  readonly recursive: boolean;
  /** Throws `bad-request` if there are more. */
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

/**
 * What to return for a file: only its attributes, its text, its text as rows of an HTML table, the line of a definition with what
 * is written about it, or the HTML that its Markdown describes, which is "" for other files and for text that takes too much work.
 */
export type FileForm =
  | { readonly kind: "attributes" | "text" | "plain-html" | "definition" | "markdown" }
  /** With syntax highlighting. `patient` allows more time. */
  | { readonly kind: "html"; readonly longLines: boolean; readonly patient: boolean };

/** A file and the form in which to return it. */
export interface WantedFile {
  /** Whose attributes may say what its language is. */
  readonly commit: string;
  readonly oid: string;
  readonly path: string;
  readonly form: FileForm;
  /** 1-based, inclusive; undefined for the first and the last line. */
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
      /** "" if unknown. */
      readonly language: string;
      /** "" if only attributes were requested, and for a binary file. For HTML, one table row per line. */
      readonly text: string;
      /** Only of a definition: the comment about it, without its marks; "" if there is none. */
      readonly documentation?: string;
      /** Whether highlighting was aborted. */
      readonly aborted: boolean;
    }
  | { readonly kind: "too-large"; readonly byteCount: number }
  | { readonly kind: "missing" };

/** Texts to be converted to HTML, from the request or read for it. */
export interface HighlightTexts {
  readonly kind: "highlight-texts";
  readonly texts: readonly TextToHighlight[];
  readonly patient: boolean;
}

export interface TextToHighlight {
  readonly text: string;
  /** Determines the language if `language` is "". */
  readonly path: string;
  /** A name, an alias, or a file extension. */
  readonly language: string;
  /** Whether lines of any length are highlighted. */
  readonly longLines: boolean;
}

export interface HighlightedText {
  /** HTML, without line ends. */
  readonly lines: readonly string[];
  /** Whether highlighting was aborted, so that the lines are plain. */
  readonly aborted: boolean;
}

/** Markdown from the request, to be converted to HTML. */
export interface RenderMarkdown {
  readonly kind: "render-markdown";
  readonly text: string;
}

export interface ReadDiff extends OfRepository, DiffRequest {
  readonly kind: "read-diff";
  readonly skipCount: number;
  readonly countMax: number;
  /** Whether to return the text of the whole diff. */
  readonly withPatch: boolean;
}

export interface DiffPage {
  readonly files: readonly FileDiffData[];
  readonly totalCount: number;
  /** Totals over all files. */
  readonly addedCount: number;
  readonly deletedCount: number;
  /** "" if not requested. */
  readonly patch: string;
}

export interface ReadBlame extends OfRepository {
  readonly kind: "read-blame";
  readonly blame: BlameRequest;
}

export interface CountLanguages extends OfFiles {
  readonly kind: "count-languages";
  readonly commit: string;
  /** Counting lines means reading every file. */
  readonly withLines: boolean;
}

export interface LanguageCount {
  readonly name: string;
  readonly byteCount: number;
  /** 0 if not requested. */
  readonly lineCount: number;
}

export interface ReadSubmodules extends OfRepository {
  readonly kind: "read-submodules";
  readonly commit: string;
}

export type GitReadKind = keyof GitReadKinds;
export type GitReadRequest = GitReadKinds[GitReadKind]["request"];
export type GitReadAnswer<Kind extends GitReadKind> = GitReadKinds[Kind]["answer"];

/** A file, and a position in it: lines count from 0, characters are code points. */
export interface FilePosition {
  readonly repositoryId: number;
  readonly oid: string;
  readonly path: string;
  readonly line: number;
  readonly character: number;
}

/** The symbols of a file. Files that are too large or binary have none. */
export interface ListSymbols {
  readonly repositoryId: number;
  readonly kind: "list-symbols";
  /** Whose attributes decide about the language. */
  readonly commit: string;
  readonly oid: string;
  readonly path: string;
  /** A regexp for their names, regardless of case; "" for all. */
  readonly query: string;
  /** Empty for all. */
  readonly kinds: readonly ShownSymbolKind[];
  readonly skipCount: number;
  readonly countMax: number;
}

export interface ListedSymbols {
  /** In file order. */
  readonly symbols: readonly SymbolMatch[];
  /** Of the symbols that pass the filters. */
  readonly totalCount: number;
  readonly language: string;
  /** Why symbols cannot be extracted; "" if they can. */
  readonly lack: string;
}

/** Finds the word at a position of a file, and where it is defined and used in the file. */
export interface ListOccurrences extends FilePosition {
  readonly kind: "list-occurrences";
  /** Whose attributes decide about the language. */
  readonly commit: string;
  /** True for all names that the file defines, not only the one at the position. */
  readonly all: boolean;
}

export interface Occurrence {
  /** From 0. */
  readonly line: number;
  /** Code points. */
  readonly character: number;
  readonly length: number;
}

/** A word at a place, with the text beside it in its line, as far as it tells how the word is used. */
export interface OccurringWord extends Occurrence {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

export interface ListedOccurrences {
  readonly language: string;
  /** The word at the position; undefined if there is none. */
  readonly word: OccurringWord | undefined;
  /** What the file imports, as ends of paths. */
  readonly imports: readonly string[];
  readonly names: readonly {
    readonly name: string;
    readonly definitions: readonly SymbolMatch[];
    readonly references: readonly Occurrence[];
  }[];
}
