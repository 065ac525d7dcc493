import type { SearchPlan } from "../../src/query/plan/plan.js";
import { SourceRecord, SourceReport } from "../../src/search/partition/source-record.js";
import type { Resolution } from "../../src/search/repositories/repository-resolver.js";
import type { ExcludedRepository, MissingRevision, SearchPart } from "../../src/search/source/search-part.js";

/** What a source says that has chosen these repositories, of `visibleCount`, and has recorded this. */
export function makePart(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  visibleCount: number,
  recorded: Partial<{
    readonly missingRevisions: readonly MissingRevision[];
    readonly excluded: readonly ExcludedRepository[];
  }> = {},
): SearchPart {
  const record = new SourceRecord();
  record.missingRevisions.push(...(recorded.missingRevisions ?? []));
  record.excluded.push(...(recorded.excluded ?? []));
  const report = new SourceReport(plan, record, () => resolutions);
  return report.part({ all: false, options: new Set() }, true, { visibleCount, seesAll: true, isRepeatable: true });
}
