/** Readers that a code host has named come into the catalog, and go. */
import t from "tap";
import { AuditLog } from "../../../src/account/records/audit-log.js";
import { silentLog } from "../../../src/base/log.js";
import { resultWhileYielding } from "../../../src/base/yielding.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import { findSource } from "../../../src/codehost/selection.js";
import { resolveRepository } from "../../../src/daemon/config/file-repositories.js";
import { HostReaders } from "../../../src/daemon/parts/host-readers.js";
import type { RepositoryConfig } from "../../../src/model/repository.js";
import { wholeShare } from "../../../src/sync/services/sync-settings.js";
import { connection } from "../../support/code-host.js";
import { MemoryRecords } from "../../support/memory-records.js";
import { until, within } from "../../support/waiting.js";

/** Repositories of a connection that the host decides about, with an audit log that writes a line when `write` is called. */
async function site(names: readonly string[], readers: readonly string[]) {
  const catalog = new Catalog(new MemoryRecords());
  await resultWhileYielding(catalog.load());
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  const append = (line: string) =>
    new Promise<void>((resolve) => {
      waiting.push(() => {
        lines.push(line);
        resolve();
      });
    });
  const audit = new AuditLog({ append, settled: async () => undefined, close: async () => undefined }, silentLog());
  const source = findSource(connection({ permissions: "host" }));
  const configs = names.map((name): RepositoryConfig => {
    return { ...resolveRepository({ name, url: `https://h/${name}` }), private: true, readers, source };
  });
  await catalog.publish(() => ({ repositories: configs.map((one) => catalog.newRepository(one, true)) }));
  const hostReaders = new HostReaders({
    catalog,
    manifest: catalog,
    share: wholeShare,
    audit,
    log: silentLog(),
  });
  const apply = (wanted: readonly string[], some = configs) =>
    within(
      hostReaders.apply(
        "acme",
        some.map((one) => ({ ...one, readers: wanted })),
      ),
      "readers are applied",
      10_000,
    );
  const readersIn = (name: string) => catalog.repositoryByName(name)?.readers.join();
  return { configs, hostReaders, apply, readersIn, lines, waiting };
}

t.test("what is taken away does not wait for the audit log", async (t) => {
  const { apply, readersIn, lines, waiting, hostReaders } = await site(["one", "two"], ["ann", "bob"]);
  t.same(await apply(["ann"]), []);
  t.equal(readersIn("one"), "ann");
  t.same(await apply([]), [], "nor for the lines of an earlier change");
  t.equal(readersIn("two"), "");
  t.same(lines, []);
  const written = hostReaders.written();
  await until("all lines are written", () => {
    waiting.splice(0).forEach((write) => write());
    return lines.length === 4;
  });
  await written;
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [["ann"], ["ann"], [], []].map((readers) => ({ event: "readers-changed", from: "connection acme", readers })),
  );
});

t.test("what is given waits while many lines do", async (t) => {
  const names = Array.from({ length: 1_000 }, (_, i) => `r${i}`);
  const { apply, readersIn, configs, lines, waiting } = await site(names, ["ann", "bob"]);
  await apply(["ann"]);
  t.same(await apply(["carol"], configs.slice(0, 1)), ["r0"], "it has to wait");
  t.equal(readersIn("r0"), "", "but who may not read any more does not");
  await until("the lines are written", () => {
    waiting.splice(0).forEach((write) => write());
    return lines.length === 1_001;
  });
  t.same(await apply(["carol"], configs.slice(0, 1)), []);
  t.equal(readersIn("r0"), "carol");
});

t.test("readers whom no host names any more are removed", async (t) => {
  const { readersIn, hostReaders } = await site(["kept", "gone"], ["ann"]);
  const state = { askedAt: "", isClosed: false, error: "" };
  await hostReaders.closeUndecided({
    permissionState: (connection, { name }) => (connection === "acme" && name === "kept" ? state : undefined),
  });
  t.equal(readersIn("kept"), "ann");
  t.equal(readersIn("gone"), "");
});
