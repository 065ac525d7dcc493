import {
  addDigest,
  addToDigest,
  digestKinds,
  emptyDigest,
  noPosition,
  repositoryKey,
  type ResultDigest,
} from "../../native/kernel/result-digest.js";
import type { SelectedResult } from "../../protocol/result-batch.js";

/** The digest of a search's results: that of the batches of workers, and of the results that the main thread sends. */
export class SearchDigest {
  readonly sum = emptyDigest();
  readonly #isWanted: boolean;

  constructor(isWanted: boolean) {
    this.#isWanted = isWanted;
  }

  addBatch(digest: ResultDigest | undefined): void {
    if (digest !== undefined) addDigest(this.sum, digest);
  }

  /** Adds a commit or a diff, with the number of its matches that are sent. */
  addCommit(repository: string, kind: "commit" | "diff", oid: string, matchCount: number): void {
    if (this.#isWanted)
      addToDigest(this.sum, repositoryKey(repository, oid), Buffer.from(digestKinds[kind]), matchCount, 0);
  }

  addRepository(repository: string, revision: string): void {
    this.#add(repository, `${digestKinds.repository}${revision}`);
  }

  addSelected(repository: string, { kind, key, json }: SelectedResult): void {
    if (kind === "owner") this.#add("", `${digestKinds.owner}${json}`);
    // Without the id of the repository, with which the key begins.
    else this.#add(repository, `${digestKinds[kind]}${key.slice(key.indexOf("@") + 1)}`);
  }

  #add(repository: string, text: string): void {
    if (this.#isWanted) addToDigest(this.sum, repositoryKey(repository, ""), Buffer.from(text), noPosition, noPosition);
  }
}
