import { TrawlError } from "../../base/errors.js";

/** Why a provider, or what it says, is of no use: it refuses or is refused, or there is no answer that says either. */
export type ProviderProblemKind = "refused" | "unreachable";

/** A problem with an identity provider, in words for the user who wants to sign in. */
export class ProviderProblem extends TrawlError {
  readonly kind: ProviderProblemKind;

  constructor(kind: ProviderProblemKind, message: string, options?: { cause?: unknown }) {
    super("forbidden", message, options);
    this.kind = kind;
  }
}
