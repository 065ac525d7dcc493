import type { ReadAnswer, ReadKind, ReadRequest } from "../../protocol/read-messages.js";
import { answerCommitAttributes } from "./commit-attributes.js";
import type { ReadContext } from "./context.js";
import { answerCompareMatches } from "./compare-matches.js";
import { answerConvertResults } from "./convert-results.js";
import { answerExtractSymbols } from "./symbol-reads.js";
import { answerGitRead } from "./answer-git-read.js";
import { answerHighlightTexts } from "./highlight.js";
import { answerBuildHistory, answerFilterHistory, answerListCommits } from "./history-reads.js";
import { answerRenderMarkdown } from "./markdown.js";

/** The reads that a search of the texts of revisions does not need. */
export type OtherRead = Exclude<
  ReadRequest,
  { readonly kind: "resolve-revisions" | "find-documents" | "cache-documents" }
>;

export async function answerOtherRead(request: OtherRead, context: ReadContext): Promise<ReadAnswer<ReadKind>> {
  switch (request.kind) {
    case "commit-attributes":
      return answerCommitAttributes(request, context);
    case "compare-matches":
      return answerCompareMatches(request, context);
    case "convert-results":
      return answerConvertResults(request, context);
    case "highlight-texts":
      return answerHighlightTexts(request, context);
    case "extract-symbols":
      return answerExtractSymbols(request, context);
    case "render-markdown":
      return answerRenderMarkdown(request);
    case "list-commits":
      return answerListCommits(request, context);
    case "build-history":
      return answerBuildHistory(request, context);
    case "filter-history":
      return answerFilterHistory(request, context);
    default:
      return answerGitRead(request, context);
  }
}
