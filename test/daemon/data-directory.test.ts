/**
 * A new data directory after a power loss: the version file is there with all of its bytes once the directory has been
 * made.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
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
