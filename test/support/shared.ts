/**
 * Fixtures that several tests share: a daemon, a browser. Each is made at its first use. Those of several files of one process
 * (scripts/test-folder.mjs) end with the process, those of one file with the file. A file that runs alone makes its own in the
 * same way.
 */
import t, { type Test } from "tap";

/** What ends the fixture: all that it needs of a test. */
export type Owner = Pick<Test, "teardown">;

/** The `teardown` of the process; that of `t` is the file's while several files run. */
export const run: Owner = (t as { readonly run?: Owner }).run ?? { teardown: t.teardown.bind(t) as Test["teardown"] };

/**
 * Makes a fixture once: returns a function that makes it at its first call, and returns the same one afterwards. With the `t` of
 * tap as `owner` it ends with the file.
 */
export function shared<T>(make: (owner: Owner) => Promise<T>, owner: Owner = run): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make(owner));
}
