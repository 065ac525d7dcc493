/** An author or committer, as GraphQL tells. */
export interface Signature {
  readonly date: string;
  readonly person: { readonly displayName: string; readonly email: string };
}

/** Fields of a `Signature`, for queries. */
export const signatureFields = "{ date person { displayName email } }";
