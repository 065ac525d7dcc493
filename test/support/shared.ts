/**
 * Fixtures that test files which run in one process share (scripts/test-folder.mjs): a daemon, a browser. Each is made at its
 * first use, and ends with the process. A file that runs alone makes its own in the same way.
 */
import t, { type Test } from "tap";

/** What ends the fixture: all that it needs of a test. */
export type Owner = Pick<Test, "teardown">;

/** The `teardown` of the process; that of `t` is the file's while several files run. */
const run: Owner = (t as { readonly run?: Owner }).run ?? { teardown: t.teardown.bind(t) as Test["teardown"] };

/** Makes a fixture once: returns a function that makes it at its first call, and returns the same one afterwards. */
export function shared<T>(make: (owner: Owner) => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make(run));
}
