import type { Receipt } from "../../model/stream-events.js";
import type { SearchReceipt } from "../../search/report/search-receipt.js";

/** The receipt of a search, whose lists are read in pages. */
export class ReceiptSource {
  readonly generation: string;
  readonly complete: boolean;
  readonly matchCount: number;
  readonly documentsSearched: number;
  readonly digest: string;
  readonly digestedMatches: number;
  readonly lists: Pick<SearchReceipt, "repositories" | "excluded">;

  constructor(receipt: SearchReceipt) {
    const summary: Receipt = receipt.summary("");
    this.generation = summary.generation;
    this.complete = summary.complete;
    this.matchCount = summary.matchCount;
    this.documentsSearched = summary.documentsSearched;
    this.digest = summary.digest;
    this.digestedMatches = summary.digestedMatches;
    this.lists = receipt;
  }
}
