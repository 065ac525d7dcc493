import { secretSourcePattern } from "../../base/secret-source.js";
import type { OptionRow } from "./options.js";

/** The properties of an item of `identityProviders`. */
export const providerTable = {
  name: {
    kind: "string",
    default: "",
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    allowed: "1 to 64 letters, digits and _ -",
    sample: "acme",
    description:
      "Name of the provider, in the address to which it sends browsers back: /-/oidc/NAME/callback below externalUrl. Register this address there, and /-/oidc/NAME/backchannel-logout for logouts.",
  },
  displayName: {
    kind: "string",
    default: "",
    pattern: "^[^\\u0000-\\u001f]{0,100}$",
    allowed: "up to 100 characters",
    defaultText: "the name",
    sample: "Acme",
    description: "What the button of the sign-in page says.",
  },
  issuer: {
    kind: "string",
    default: "",
    pattern: "^https?://[^\\s@?#\\u0000-\\u001f]+$",
    allowed: "https://…, or http:// for an address of this machine",
    sample: "https://login.example.org",
    description: "Its issuer, by which its metadata is found (OpenID Connect Discovery).",
  },
  clientId: {
    kind: "string",
    default: "",
    pattern: "^[\\u0020-\\u007e]{1,300}$",
    allowed: "up to 300 characters",
    sample: "trawl",
    description: "The client_id that the provider has given to this server.",
  },
  clientSecret: {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    sample: "file:/etc/trawl/acme-secret",
    defaultText: "none: a public client",
    description: "Where to read the client's secret. It is read again after an hour.",
  },
  scopes: {
    kind: "strings",
    default: ["openid", "profile", "email"],
    description: "Scopes that are asked for. With offline_access, many providers give a refresh token.",
  },
  prompt: {
    kind: "choice",
    default: "",
    choices: ["", "login", "consent", "select_account"],
    description:
      "What the provider asks each time, if anything. Some give a refresh token for offline_access only with consent.",
  },
  usernameClaim: {
    kind: "string",
    default: "preferred_username",
    pattern: "^.{1,100}$",
    allowed: "the name of a claim",
    description: "Claim with the name for a new account; of an address, what is before the @.",
  },
  groupsClaim: {
    kind: "string",
    default: "groups",
    pattern: "^.{1,100}$",
    allowed: "the name of a claim",
    description: "Claim with the list of groups.",
  },
  signUp: {
    kind: "choice",
    default: "none",
    choices: ["none", "listed", "all"],
    description:
      "Who gets an account by signing in: nobody, whoever has a verified address in signUpDomains or is in a group of signUpGroups, or everybody whom the provider knows.",
  },
  signUpDomains: {
    kind: "strings",
    default: [],
    description: "With signUp listed: domains of addresses that the provider has verified, such as example.org.",
  },
  signUpGroups: {
    kind: "strings",
    default: [],
    description: "With signUp listed: groups.",
  },
  trustUsernames: {
    kind: "boolean",
    default: false,
    description:
      "Users cannot choose their names at the provider, so a new account gets exactly its name there, also one that is listed among the readers of a repository. Otherwise such a name, and one that is taken, gets a number.",
  },
  linkVerifiedEmail: {
    kind: "boolean",
    default: false,
    description:
      "At the first sign-in, link the existing account whose address was verified here, if the provider has verified the same address.",
  },
  organizations: {
    kind: "map",
    default: {},
    description:
      "For each group the name of an organization: its members are members of the organization. Organizations that are named here have no other members among the users of the provider.",
  },
  refreshSeconds: {
    kind: "integer",
    default: 900,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description:
      "How often a provider that gives refresh tokens is asked whether a user is still signed in, and in which groups. A session ends when it refuses, or has not answered four times.",
  },
  sessionHours: {
    kind: "integer",
    default: 12,
    min: 1,
    max: 8_760,
    unit: "hours",
    description: "Lifetime of a session for which the provider gives no refresh token; others have auth.sessionDays.",
  },
  scimToken: {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    sample: "file:/etc/trawl/acme-scim-token",
    defaultText: "none: no directory",
    description:
      "Where to read the token of at least 16 characters with which the provider's directory sends users and groups (SCIM 2.0) to /.api/scim/v2. Its groups then decide alone about the members of organizations.",
  },
  scimSubject: {
    kind: "choice",
    default: "externalId",
    choices: ["externalId", "userName", "none"],
    description:
      "What the directory says of a user that is the subject (sub) of the user at sign-in. With none, users link their accounts themselves.",
  },
} as const satisfies Record<string, OptionRow>;

export const providerRequired: readonly string[] = ["name", "issuer", "clientId"];
