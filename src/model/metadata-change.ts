/** A change to one pair of a repository's metadata; a key without a value has null. */
export type MetadataChange =
  | { readonly kind: "add" | "update"; readonly key: string; readonly value: string | null }
  | { readonly kind: "delete"; readonly key: string };
