import type { Receipt } from "../../../model/stream-events.js";
import { formatAmount } from "../../ui/numbers.js";

/** Whether everything that the query chooses was searched, and how much that is. */
export function coverageText({ complete, documentsSearched, repositories, excluded }: Receipt): string {
  const searched =
    documentsSearched > 0
      ? formatAmount(documentsSearched, "file")
      : formatAmount(repositories.count, "repository", "repositories");
  const left = excluded.count === 0 ? "" : `, ${formatAmount(excluded.count, "left out", "left out")}`;
  return `${complete ? "Complete" : "Not complete"}: ${searched}${left}`;
}
