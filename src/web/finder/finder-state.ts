import { signal } from "@preact/signals";

/** What the finder looks for. */
export const finderScopes = ["all", "files", "symbols", "repositories"] as const;
export type FinderScope = (typeof finderScopes)[number];

/** What the finder looks for while it is open. */
export const finderScope = signal<FinderScope | undefined>(undefined);
