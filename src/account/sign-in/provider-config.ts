import { TrawlError } from "../../base/errors.js";

/** Who may get an account by signing in with a provider: nobody, those whom `signUpDomains` or `signUpGroups` list, or everybody. */
export type SignUpRule = "none" | "listed" | "all";

/** An item of `identityProviders`, with its defaults. */
export interface ProviderConfig {
  /** In addresses and in the audit log. */
  readonly name: string;
  /** On the button of the sign-in page. */
  readonly displayName: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Where the secret is read from; "" for a public client. */
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  /** What the provider is told to ask the user, as "consent"; "" for nothing. */
  readonly prompt: string;
  readonly usernameClaim: string;
  readonly groupsClaim: string;
  readonly signUp: SignUpRule;
  /** In lower case. */
  readonly signUpDomains: readonly string[];
  readonly signUpGroups: readonly string[];
  readonly trustUsernames: boolean;
  readonly linkVerifiedEmail: boolean;
  /** The name of an organization by group. */
  readonly organizations: Readonly<Record<string, string>>;
  readonly refreshSeconds: number;
  readonly sessionHours: number;
  /** Where the token is read from with which the provider's directory sends users and groups; "" if it does not. */
  readonly scimToken: string;
  /** What the directory says of a user that is the subject by which the provider names the user at sign-in. */
  readonly scimSubject: "externalId" | "userName" | "none";
}

/** How long one answer of a provider is waited for, and how long it may be: keys of large providers have some 10 KB. */
export const providerAnswerMs = 5_000;
export const providerBytesMax = 256 << 10;

/** The path below which the routes of a provider are. */
export function providerPath(name: string, what: "sign-in" | "callback" | "link" | "backchannel-logout"): string {
  return `/-/oidc/${name}/${what}`;
}

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
