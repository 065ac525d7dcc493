import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { DaemonProcess } from "./daemon.js";
import { ask } from "./graphql.js";
import { sharedDaemon, type Configuration } from "./shared-daemon.js";

/** The response to a GraphQL request. */
export interface Answer {
  readonly data?: unknown;
  readonly errors?: readonly { readonly message: string }[];
}

/** The viewer: anonymous, a user by token, or a site admin acting as that user. */
export type Asker = NamedAsker | Session | { readonly authorization: string };

type NamedAsker = "anonymous" | "admin" | "ann" | "bob" | "admin as bob";

/** The headers of a browser in which a user is signed in. */
export interface Session {
  readonly cookie: string;
}

export const idOf = (kind: string, key: unknown): string =>
  Buffer.from(`${kind}:${JSON.stringify(key)}`).toString("base64");

/** A daemon with the users admin, ann and bob; only admin is a site admin. */
export class GraphqlSite {
  readonly daemon: DaemonProcess;
  readonly #authorizations: Record<NamedAsker, string | undefined>;
  readonly #auditedBefore: number;

  private constructor(daemon: DaemonProcess, authorizations: Record<NamedAsker, string | undefined>) {
    this.daemon = daemon;
    this.#auditedBefore = auditLines(daemon).length;
    this.#authorizations = authorizations;
  }

  /** The daemon that tests share, with this configuration. */
  static async start(
    test: Test,
    configuration: Configuration = {},
    options: readonly string[] = [],
  ): Promise<GraphqlSite> {
    const daemon = await sharedDaemon(test, configuration, options);
    const token = (user: string, ...scopes: string[]): Promise<string> => daemon.addToken(user, scopes);
    for (const name of ["ann", "bob"]) await daemon.control("POST", "/.api/users", { name });
    const [admin, sudo, ann, bob] = [
      await token("admin"),
      await token("admin", "site-admin:sudo"),
      await token("ann"),
      await token("bob"),
    ];
    return new GraphqlSite(daemon, {
      anonymous: undefined,
      admin: `token ${admin}`,
      ann: `token ${ann}`,
      bob: `token ${bob}`,
      "admin as bob": `token-sudo token="${sudo}",user="bob"`,
    });
  }

  /** The whole response. */
  async ask(asker: Asker, query: string, variables: Readonly<Record<string, unknown>> | null = null): Promise<Answer> {
    if (typeof asker === "string")
      return (await ask(this.daemon.url, query, variables, this.#authorizations[asker])) as Answer;
    const response = await fetch(`${this.daemon.url}/.api/graphql`, {
      method: "POST",
      headers: { ...asker, "x-requested-with": "Sourcegraph" },
      body: JSON.stringify({ query, variables }),
    });
    return (await response.json()) as Answer;
  }

  /** Gives the user another token, because the first was deleted. */
  async renewToken(name: "ann" | "bob"): Promise<void> {
    this.#authorizations[name] = `token ${await this.daemon.addToken(name)}`;
  }

  /** Signs in as a browser does. */
  async signIn(name: string, password: string): Promise<Session> {
    const response = await fetch(`${this.daemon.url}/-/sign-in`, {
      method: "POST",
      body: JSON.stringify({ email: name, password }),
    });
    t.equal(response.status, 200, `${name} signs in`);
    return { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" };
  }

  /** The data of a response, which must have no errors. */
  async data<T>(asker: Asker, query: string, variables: Readonly<Record<string, unknown>> | null = null): Promise<T> {
    const answer = await this.ask(asker, query, variables);
    t.equal(answer.errors, undefined, `${query}: no errors`);
    return answer.data as T;
  }

  /** The first error of a response; "" if there is none. */
  async refusal(
    asker: Asker,
    query: string,
    variables: Readonly<Record<string, unknown>> | null = null,
  ): Promise<string> {
    return (await this.ask(asker, query, variables)).errors?.[0]?.message ?? "";
  }

  authorization(asker: NamedAsker): string | undefined {
    return this.#authorizations[asker];
  }

  async userId(name: string): Promise<string> {
    return (
      await this.data<{ user: { id: string } }>("admin", "query ($n: String!) { user(username: $n) { id } }", {
        n: name,
      })
    ).user.id;
  }

  /** The lines of the audit log since the start. */
  get audited(): readonly Readonly<Record<string, unknown>>[] {
    return auditLines(this.daemon)
      .slice(this.#auditedBefore)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

function auditLines({ data }: DaemonProcess): readonly string[] {
  return readFileSync(join(data, "audit.log"), "utf8").trim().split("\n");
}
