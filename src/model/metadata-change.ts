/** A change to one metadata pair of a repository; the value is null for a key without a value. */
export type MetadataChange =
  | { readonly kind: "add" | "update"; readonly key: string; readonly value: string | null }
  | { readonly kind: "delete"; readonly key: string };
