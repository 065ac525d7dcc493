/** What the requests of clients are about: one repository of the running daemon, with the oids of its commits. */
export interface ClientFixture {
  readonly name: string;
  /** The tip of `main`, its parent, and the tip of `feature`. */
  readonly head: string;
  readonly parent: string;
  readonly feature: string;
  readonly cloneUrl: string;
}

/** One request as a client sends it, and what its answer must hold for the client to work. */
export interface ClientRequest {
  /** The operation's name, as the client appends it to the URL. */
  readonly name: string;
  readonly query: string;
  readonly variables?: (fixture: ClientFixture) => Readonly<Record<string, unknown>>;
  /** A pattern for `data`, as tap's `match` reads it. */
  readonly data?: (fixture: ClientFixture) => unknown;
  /** Sent with the token of a site admin, as what changes something is. */
  readonly asAdmin?: true;
  /** What the client is told instead, where we have not what it asks for. */
  readonly error?: RegExp;
}

export const mainGo =
  'package main\n\nimport "fmt"\n\n// greet says hello.\nfunc greet(name string) {\n\tfmt.Println("hello", name)\n}\n';
export const readme = "# Demo\n\nSays hello.\n";
