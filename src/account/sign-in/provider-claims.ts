import { isObject } from "../../base/is-object.js";
import { ProviderProblem } from "./provider-problem.js";
import type { ProviderConfig } from "./provider-config.js";

/** What a provider says about a user, as far as it is used. */
export interface ProviderClaims {
  readonly subject: string;
  /** The session at the provider; undefined if it names none. */
  readonly sessionId: string | undefined;
  /** "" if it says none. */
  readonly username: string;
  readonly displayName: string;
  /** "" unless the provider has verified it: everything else is only what somebody claims. */
  readonly verifiedEmail: string;
  readonly groups: readonly string[];
}

const groupsMax = 2_000;
const textCharsMax = 320;

/**
 * Reads what is used of the claims. Those of a user that cannot be what they should be are a reason to refuse the sign-in where
 * rights depend on them, as on groups; names are left out then. Throws `ProviderProblem`.
 */
export function readClaims(
  { displayName: provider, groupsClaim, usernameClaim }: ProviderConfig,
  claims: Readonly<Record<string, unknown>>,
): ProviderClaims {
  const subject = claims["sub"];
  if (typeof subject !== "string" || subject === "" || subject.length > textCharsMax)
    throw new ProviderProblem("refused", `${provider} names no subject`);
  const email = readText(claims["email"]);
  return {
    subject,
    sessionId: readText(claims["sid"]) || undefined,
    username: readText(claims[usernameClaim]),
    displayName: readText(claims["name"]),
    verifiedEmail: claims["email_verified"] === true ? email : "",
    groups: readGroups(provider, groupsClaim, claims),
  };
}

function readText(value: unknown): string {
  return typeof value === "string" && value.length <= textCharsMax ? value.trim() : "";
}

/** Absent groups are none: so are those of a user who has left the last one. */
function readGroups(provider: string, claim: string, claims: Readonly<Record<string, unknown>>): readonly string[] {
  const sources = claims["_claim_names"];
  // A provider that leaves out long lists names where they can be read.
  if (isObject(sources) && Object.hasOwn(sources, claim))
    throw new ProviderProblem("refused", `${provider} leaves the groups out, because there are too many of them`);
  const value = claims[claim] ?? [];
  const groups = typeof value === "string" ? [value] : value;
  if (!Array.isArray(groups) || !groups.every((group): group is string => typeof group === "string"))
    throw new ProviderProblem("refused", `${provider} sends a claim ${JSON.stringify(claim)} that is no list of texts`);
  if (groups.length > groupsMax)
    throw new ProviderProblem("refused", `${provider} names ${groups.length} groups, more than ${groupsMax}`);
  return groups;
}
