import { signal } from "@preact/signals";
import { isObject } from "../../../base/is-object.js";
import type { PagePath } from "../../../model/page-path.js";
import { ApiError } from "../../api/api-error.js";
import { graphql } from "../../api/graphql.js";
import { KeptList, readChoice, storeChoice } from "../../ui/kept-list.js";

type Place = Pick<PagePath, "name" | "revision">;

export interface TreeEntry {
  readonly name: string;
  /** From the root. */
  readonly path: string;
  readonly url: string;
  readonly kind: "directory" | "file" | "submodule";
}

/** The entries of a folder, of which a large one has more than are shown. */
export interface Folder {
  /** The commit that was read. */
  readonly commit: string;
  readonly entries: readonly TreeEntry[];
  readonly hasMore: boolean;
}

/** A row of the tree. */
export type TreeRow =
  | { readonly kind: "entry"; readonly entry: TreeEntry; readonly level: number; readonly isOpen: boolean }
  | { readonly kind: "waiting"; readonly folder: string; readonly level: number }
  | { readonly kind: "more"; readonly folder: string; readonly level: number }
  | { readonly kind: "failed"; readonly folder: string; readonly level: number; readonly error: unknown };

/** One more than is shown, to know whether there are more: a page with many more rows is slow. */
const entriesAsked = 1001;
const entryCountMax = entriesAsked - 1;

const shownKey = "trawl-tree";
const wideMin = 1000;

/** Whether the tree is shown: in a wide window, unless it was last hidden. */
export const treeIsShown = signal(readShown());

function readShown(): boolean {
  return window.innerWidth >= wideMin && (readChoice(shownKey) ?? "yes") === "yes";
}

export function showTree(isShown: boolean): void {
  treeIsShown.value = isShown;
  storeChoice(shownKey, isShown ? "yes" : "no");
}

/** The folders of a repository that are open in this tab, the latest one last. */
interface KeptFolders {
  readonly name: string;
  readonly open: readonly string[];
}

const kept = new KeptList<KeptFolders>("folders", { count: 20, length: 100_000 }, isKeptFolders, () => sessionStorage);

/** A browser asks for six things at a time; the page beside the tree needs some of them. */
const requestsMax = 3;

/** Of one repository, that many folders are kept: each is asked for when the tree is shown again. */
const keptFolderMax = 50;

function isKeptFolders(value: unknown): value is KeptFolders {
  if (!isObject(value)) return false;
  const { name, open } = value;
  return typeof name === "string" && Array.isArray(open) && open.every((path) => typeof path === "string");
}

/** The open folders of one repository, kept until the tab is closed, and what is in those of one revision. */
export class TreeState {
  readonly place: Place;
  readonly #open = signal<ReadonlySet<string>>(new Set());
  readonly #folders = signal<ReadonlyMap<string, Folder | { readonly error: unknown }>>(new Map());
  readonly #asked = new Set<string>();
  /** Folders that are shown as they were in an earlier commit of the branch. */
  readonly #stale = new Set<string>();
  #commit: string | undefined;
  #waitingCount = 0;

  constructor(place: Place) {
    this.place = place;
    this.#open.value = new Set(kept.read().find(({ name }) => name === place.name)?.open);
  }

  toggle(path: string, isOpen = !this.#open.peek().has(path)): void {
    const open = new Set(this.#open.peek());
    if (isOpen) open.add(path);
    else open.delete(path);
    this.#keepOpen(open);
  }

  /** Opens the folders above a path. */
  reveal(path: string): void {
    const parts = path.split("/").slice(0, -1);
    const above = parts.map((_, at) => parts.slice(0, at + 1).join("/"));
    this.#keepOpen(new Set([...this.#open.peek(), ...above]));
  }

  #keepOpen(open: ReadonlySet<string>): void {
    this.#open.value = open;
    const { name } = this.place;
    kept.add({ name, open: [...open].slice(-keptFolderMax) }, (other) => other.name === name);
  }

  retry(folder: string): void {
    this.#asked.delete(folder);
    const folders = new Map(this.#folders.peek());
    folders.delete(folder);
    this.#folders.value = folders;
  }

  /** Asks for what is in the open folders, where that is not known yet or known of an earlier commit. */
  load(): void {
    if (this.#stale.has("")) this.#ask("");
    for (const row of this.rows("")) {
      if (row.kind === "waiting") this.#ask(row.folder);
      else if (row.kind === "entry" && row.isOpen && this.#stale.has(row.entry.path)) this.#ask(row.entry.path);
    }
  }

  /** Looks whether the branch has moved: the open folders are then read again, and shown as they were until they are there. */
  refresh(): void {
    if (this.#commit === undefined || this.#commit === this.place.revision) return;
    this.#asked.delete("");
    this.#ask("");
  }

  /** At the limit, nothing is asked: each answer shows the tree again, which calls `load`, which asks for what is left. */
  #ask(folder: string): void {
    if (this.#asked.has(folder) || this.#waitingCount >= requestsMax) return;
    this.#asked.add(folder);
    this.#stale.delete(folder);
    this.#waitingCount++;
    const take = (found: Folder | { readonly error: unknown }): void => {
      this.#waitingCount--;
      const folders = new Map(this.#folders.peek());
      // What was there before an error is better than nothing.
      if ("commit" in found || !folders.has(folder)) folders.set(folder, found);
      if ("commit" in found) this.#takeCommit(found.commit, folder);
      this.#folders.value = folders;
    };
    readFolder(this.place, folder).then(take, (error: unknown) => take({ error }));
  }

  /** If it is another one, all folders but this one are stale. */
  #takeCommit(commit: string, folder: string): void {
    const isMoved = this.#commit !== undefined && this.#commit !== commit;
    this.#commit = commit;
    if (!isMoved) return;
    for (const other of this.#folders.peek().keys()) if (other !== folder) this.#stale.add(other);
    for (const other of this.#stale) this.#asked.delete(other);
  }

  /** What the tree shows; the file at `shown` also if its folder has too many. */
  rows(shown: string): readonly TreeRow[] {
    const rows: TreeRow[] = [];
    this.#addRows("", 1, shown, rows);
    return rows;
  }

  #addRows(folder: string, level: number, shown: string, rows: TreeRow[]): void {
    const found = this.#folders.value.get(folder);
    if (found === undefined) {
      rows.push({ kind: "waiting", folder, level });
      return;
    }
    if ("error" in found) {
      rows.push({ kind: "failed", folder, level, error: found.error });
      return;
    }
    const open = this.#open.value;
    for (const entry of found.entries) {
      const isOpen = entry.kind === "directory" && open.has(entry.path);
      rows.push({ kind: "entry", entry, level, isOpen });
      if (isOpen) this.#addRows(entry.path, level + 1, shown, rows);
    }
    if (!found.hasMore) return;
    const isInFolder = shown !== "" && shown.split("/").slice(0, -1).join("/") === folder;
    if (isInFolder && !found.entries.some(({ path }) => path === shown)) {
      const entry: TreeEntry = { name: shown.split("/").at(-1) ?? "", path: shown, url: "", kind: "file" };
      rows.push({ kind: "entry", entry, level, isOpen: false });
    }
    rows.push({ kind: "more", folder, level });
  }
}

let current: TreeState | undefined;

/** The tree of this revision, as it was left. */
export function findTree(place: Place): TreeState {
  if (current?.place.name !== place.name || current.place.revision !== place.revision) current = new TreeState(place);
  return current;
}

const folderQuery = `query TreeFolder($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) {
      oid
      tree(path: $path) { entries(first: ${entriesAsked}) { name url isDirectory submodule { url } } }
    }
  }
}`;

async function readFolder({ name, revision }: Place, path: string): Promise<Folder> {
  const { repository } = await graphql("TreeFolder", folderQuery, { name, revision, path });
  const commit = repository?.commit?.oid;
  const all = repository?.commit?.tree?.entries;
  if (commit === undefined || all === undefined || all === null) throw new ApiError(404, "There is no such folder.");
  const entries = all.slice(0, entryCountMax).map(({ name: entry, url, isDirectory, submodule }): TreeEntry => {
    const kind = isDirectory ? "directory" : submodule === null ? "file" : "submodule";
    return { name: entry, path: path === "" ? entry : `${path}/${entry}`, url, kind };
  });
  return { commit, entries, hasMore: all.length > entries.length };
}
