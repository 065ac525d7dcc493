/** A search job, as far as pages show it. */
export interface SearchJob {
  readonly id: string;
  readonly query: string;
  readonly state: "QUEUED" | "PROCESSING" | "ERRORED" | "FAILED" | "COMPLETED" | "CANCELED";
  readonly creator: { readonly username: string } | null;
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly URL: string | null;
  readonly logURL: string | null;
  readonly message: string | null;
  readonly repoStats: { readonly total: number; readonly completed: number; readonly failed: number };
}

export const jobFields =
  "id query state creator { username } createdAt finishedAt URL logURL message repoStats { total completed failed }";

export function hasEnded({ finishedAt }: SearchJob): boolean {
  return finishedAt !== null;
}
