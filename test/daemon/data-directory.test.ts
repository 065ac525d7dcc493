/**
 * A new data directory after a power loss: the version file is there with all of its bytes once the directory has been
 * made. And one that cannot be made.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { prepareTarget } from "../../src/backup/content-files.js";
import type { Manifest } from "../../src/backup/manifest.js";
import { restore } from "../../src/backup/restore.js";
import { writeClientConfig } from "../../src/cli/connection/client-config.js";
import { prepareData } from "../../src/daemon/data-directory.js";
import { dataVersion } from "../../src/daemon/parts/data-version.js";
import { FaultLayer, layerMissing, realDirectory } from "../support/fault-layer.js";
import { losePower, type NameModel } from "../support/power-loss.js";

const program = new URL("../../src/daemon/data-directory.js", import.meta.url).href;

for (const model of ["ordered", "loose"] satisfies NameModel[]) {
  t.test(`${model} changes of names`, { skip: layerMissing }, async (t) => {
    // The layer records changes in its folder, not of the folder itself.
    const folder = realDirectory(t);
    const data = join(folder, "data");
    mkdirSync(data);
    const layer = new FaultLayer(t, folder, { journals: true });
    const script = `import { prepareData } from ${JSON.stringify(program)}; prepareData(${JSON.stringify(data)});`;
    execFileSync(process.execPath, ["--input-type=module", "-e", script], {
      env: { ...process.env, ...layer.environment },
    });
    losePower(layer.journal, folder, model, () => 0);
    t.equal(
      readFileSync(join(data, "version"), "utf8"),
      `${dataVersion}\n`,
      "nothing that was not synced is left, and this is",
    );
  });
}

const makers: readonly (readonly [what: string, make: (folder: string) => unknown])[] = [
  ["a data directory", prepareData],
  ["the target of a backup", (folder) => prepareTarget(folder, "manifest", "files")],
  [
    "the data directory of a restore",
    (folder) => restore("/nonexistent", folder, { takenAt: "", entries: [] } as unknown as Manifest, noStep, noStep),
  ],
  ["the folder of the client's tokens", (folder) => writeClientConfig(join(folder, "client.json"), noTokens)],
];
const noStep = async (): Promise<void> => undefined;
const noTokens = { endpoint: "", tokens: {}, refreshTokens: {} };

for (const [what, make] of makers)
  t.test(`${what} that cannot be made is refused with a reason`, async (t) => {
    const tried = async (folder: string): Promise<unknown> => make(folder);
    await t.rejects(tried("/proc/missing/data"), { code: "storage", message: /missing/ });
    const folder = t.testdir();
    chmodSync(folder, 0o555);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65534);
    try {
      await t.rejects(tried(join(folder, "parent/data")), {
        message: /user \d+ may not write there; change its owner/,
      });
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder, 0o755);
    }
  });
