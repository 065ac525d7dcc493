import { ClientDocuments } from "../../src/account/sign-in/client-documents.js";
import { AuthorizationCodes } from "../../src/account/sign-in/authorization-codes.js";
import { DeviceGrants } from "../../src/account/sign-in/device-grants.js";
import { TrawlError } from "../../src/base/errors.js";
import { silentLog } from "../../src/base/log.js";
import { createMetrics } from "../../src/base/metrics.js";
import type { Services } from "../../src/http/routes/routes.js";
import type { SearchHandler } from "../../src/http/routes/stream-route.js";
import { anonymous } from "../../src/model/viewer.js";

async function refuse(): Promise<never> {
  throw new TrawlError("forbidden", "nobody signs in here");
}

/** The services behind routes, without anything behind them: every viewer is admitted, and each search ends at once. */
export function hollowServices(search: Partial<SearchHandler>, ready: boolean): Services {
  return {
    origins: { trusts: () => false },
    hosts: { has: () => true },
    sharePercent: 100,
    signIn: {
      allowSignup: false,
      nameCheckWaitMs: () => 0,
      signIn: refuse,
      signUp: refuse,
      initialise: refuse,
      signOut: refuse,
      useReset: refuse,
    },
    cookies: { areSecure: false, lifetimeMs: 1000 },
    isNameTaken: () => false,
    oauth: {
      policy: "all-users-create",
      devices: new DeviceGrants(),
      tokens: { createRefreshable: refuse, refresh: refuse, revoke: refuse, endGranted: refuse },
      codes: new AuthorizationCodes(),
      assistants: { documents: new ClientDocuments([], "test"), mayRegister: true },
      baseUrl: () => "http://trawl.example",
      recordRefusal: () => undefined,
      hasSession: () => false,
      refreshMs: 0,
      familyMs: 0,
    },
    providers: { buttons: [], begin: refuse, finish: refuse, logOut: refuse },
    proxies: { header: { read: () => ({ kind: "none" }) }, signIn: { enter: refuse, refuse: () => undefined } },
    sessionUserId: () => undefined,
    authenticator: { authenticate: () => ({ kind: "viewer", viewer: anonymous, watch: () => () => undefined }) },
    search: {
      admit: () => undefined,
      run: (_, listener) => listener.done(),
      trace: (id) => (id === "abc" ? "the trace" : undefined),
      receiptPage: () => undefined,
      fleet: undefined,
      sendChanges: async () => ({ changes: undefined }),
      receiptRevisions: () => undefined,
      quotas: () => [],
      ...search,
    },
    watches: { refusal: () => undefined, run: async () => undefined },
    jobs: {} as Services["jobs"],
    resumable: {} as Services["resumable"],
    uploads: {} as Services["uploads"],
    graphql: { answer: async ({ query }) => ({ status: 200, json: Buffer.from(JSON.stringify({ data: { query } })) }) },
    mcp: undefined,
    readiness: () => ({ ready, body: { repositories: [{ name: "r", state: ready ? "searchable" : "pending" }] } }),
    seesAll: () => true,
    content: {
      contextFor: () => {
        throw new TrawlError("internal", "no repository is asked for here");
      },
      stallMs: 60_000,
    },
    refresh: (name) => Promise.resolve(name === "known/name"),
    externalUrl: () => "http://trawl.example",
    scim: {
      // Nobody has a token.
      directory: { configs: [] } as unknown as Services["scim"]["directory"],
      readSecret: () => "",
      log: silentLog(),
      recordRefusal: () => undefined,
    },
    webhooks: {
      webhookSecrets: new Map(),
      requestByAddress: () => Promise.resolve({ queued: [], lacks: [] }),
      recordRefusal: () => undefined,
      count: () => undefined,
    },
    web: undefined,
    metrics: createMetrics(),
    servesMetrics: true,
    log: silentLog(),
    stallMs: 60_000,
    diffType: "auto",
  };
}
