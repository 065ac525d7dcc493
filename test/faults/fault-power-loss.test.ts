/**
 * Power losses: the daemon and its children end between two of their calls, and of what was not synced a random
 * part is taken back (test/support/power-loss.ts says how). test/support/crash-site.ts says what must hold after each.
 */
import { execFileSync } from "node:child_process";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { CrashSite } from "../support/crash-site.js";
import { DaemonProcess } from "../support/daemon.js";
import { FaultLayer, layerMissing, realDirectory } from "../support/fault-layer.js";
import { isFull, record, rounds, scaled } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { losePower, type NameModel } from "../support/power-loss.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";

const lossCount = scaled(6, 400);
const callsMax = 250;
/** A start makes 23, as it writes the catalog to a new file. */
const startCallsMax = 25;
const models: readonly NameModel[] = ["ordered", "loose"];

t.test(
  "a mirror has what was fetched into it after the loss of all that was not synced",
  { skip: layerMissing },
  async (t) => {
    const source = fixture(t);
    const commit = (text: string): void =>
      ["main", "dev"].forEach((branch) => source.commit({ branch, files: { "a.txt": text, "d/b.txt": text } }));
    commit("one");
    const data = realDirectory(t);
    const layer = new FaultLayer(t, data, { journals: true });
    const daemon = await DaemonProcess.start(data, ["--set", "workers=1"], layer.environment);
    t.teardown(() => daemon.kill());
    await daemon.add("host/one", source.path, ["dev"]);
    commit("two");
    await daemon.sync("host/one");
    await daemon.kill();
    losePower(layer.journal, data, "ordered", () => 0);
    const [mirror = ""] = readdirSync(join(data, "mirrors")).filter((name) => name.endsWith(".git"));
    const inMirror = (...args: string[]): string =>
      execFileSync("git", [`--git-dir=${join(data, "mirrors", mirror)}`, ...args], { encoding: "utf8" });
    t.equal(inMirror("for-each-ref").trim(), source.git("for-each-ref"));
    t.equal(inMirror("fsck", "--no-progress"), "", "no object is missing or damaged");
  },
);

t.test(
  "a catalog that was restored stays so after the loss of all that was not synced",
  { skip: layerMissing },
  async (t) => {
    const source = fixture(t);
    source.commit({ branch: "main", files: { "a.txt": "one" } });
    const data = realDirectory(t);
    const before = await DaemonProcess.start(data);
    t.teardown(() => before.kill());
    await before.add("host/one", source.path);
    await before.stop();
    truncateSync(join(data, "catalog", "data.mdb"), 8192);
    const layer = new FaultLayer(t, data, { journals: true });
    const daemon = await DaemonProcess.start(data, [], layer.environment);
    t.teardown(() => daemon.kill());
    const isRestored = ({ msg }: { readonly msg?: unknown }) => String(msg).startsWith("the catalog was damaged");
    t.ok((await daemon.wholeLog()).some(isRestored));
    await daemon.add("host/two", source.path);
    await daemon.kill();
    losePower(layer.journal, data, "loose", () => 0);
    const after = await DaemonProcess.start(data);
    t.teardown(() => after.kill());
    t.notOk((await after.wholeLog()).some(isRestored), "it is not restored again");
    t.same((await after.list()).map(({ name }) => name).sort(), ["host/one", "host/two"]);
    t.equal(await after.stop(), 0);
  },
);

for (const model of models) {
  t.test(
    `${lossCount / 2} power losses, ${model} changes of names`,
    { skip: layerMissing, timeout: 7_200_000 },
    async (t) => {
      t.comment(`SEED=${seed}`);
      const random = randomFrom(seed);
      const site = new CrashSite(t, random);
      site.mirrorsMayLose = model === "loose";
      const data = realDirectory(t);
      const layer = new FaultLayer(t, data, { journals: true });
      // Long enough to be told of a change that the disk does not have yet, if that were done.
      layer.delaySyncs(5);
      const options = ["--set", "workers=1", "--set", "index.workers=1"];
      const lost = { count: 0, starts: 0, pages: 0, sizes: 0, names: 0, unsynced: 0 };
      /** Loses power, and lets the system boot again. */
      const losePart = (): void => {
        // All of it, nothing, and any part are to be expected.
        const style = random(4);
        const keepOf = (count: number): number => (style === 0 ? 0 : style === 1 ? count : random(count + 1));
        const { pages, sizes, names, unsynced } = losePower(layer.journal, data, model, keepOf);
        lost.pages += pages;
        lost.sizes += sizes;
        lost.names += names;
        lost.unsynced += unsynced;
        layer.heal();
        layer.reboot();
      };
      site.hide();
      let daemon = await DaemonProcess.start(data, options, layer.environment);
      t.teardown(() => daemon.kill());
      for (const round of rounds(lossCount / 2)) {
        await site.crash(daemon, async (daemon, _, ended) => {
          layer.killAt(
            daemon.pid,
            1 + random(random(2) === 0 ? 40 : callsMax),
            random(2) === 0 ? "killBefore" : "killAfter",
          );
          await Promise.race([ended, daemon.exit()]);
          // Whoever writes from here on ends, so nothing is written after the moment.
          layer.killAt(daemon.pid, 1, "killBefore");
          await daemon.kill();
        });
        losePart();
        lost.count++;
        if (random(3) === 0) {
          layer.killAt(0, 1 + random(startCallsMax), "killBefore");
          const started = await DaemonProcess.start(data, options, layer.environment).catch(() => undefined);
          layer.killAt(0, 1, "killBefore");
          await started?.kill();
          losePart();
          lost.starts++;
        }
        daemon = await DaemonProcess.start(data, options, layer.environment);
        await site.check(t, daemon, `loss ${round}`);
      }
      t.ok(lost.unsynced > 0, "something could be lost");
      if (isFull) t.ok(lost.pages > 0 && lost.names > 0, "something was lost each way");
      const { older, newer } = site.outcomes;
      const figures = `${lost.pages} page states, ${lost.sizes} sizes and ${lost.names} names, of ${lost.unsynced} unsynced changes`;
      t.comment(`${figures} were reverted; ${newer} operations had taken effect and ${older} had not`);
      record(
        7,
        `power loss, names ${model === "ordered" ? "reverted in one global order, as the journals of ext4 and XFS preserve it" : "reverted per directory, as POSIX allows"}`,
        `${lost.count} power losses, and ${lost.starts} more during startup, reverted ${figures}: 0 acknowledged changes lost, 0 mixed states`,
      );
      t.equal(await daemon.stop(), 0);
    },
  );
}
