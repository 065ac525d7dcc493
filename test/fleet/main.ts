/**
 * `make fleet-test`: the figures of a fleet in a quick form, with three nodes in network namespaces of their own, so that links between
 * them can be cut as between hosts. Ends with `N passed, N failed`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const inside = "TRAWL_FLEET_TEST_INSIDE";

/** Names of network namespaces are files in /run/netns. */
const ownFolder = "mount -t tmpfs tmpfs /run && mkdir /run/netns";

if (process.env[inside] === undefined) {
  // What is made in the namespaces goes with them, and so does each process: also one that is stopped.
  const enter = "--net --mount --propagation private --pid --fork --kill-child --mount-proc --".split(" ");
  const probe = `${ownFolder} && ip link add name bridge0 type bridge`;
  const possible = spawnSync("unshare", [...enter, "sh", "-c", probe], { encoding: "utf8" });
  if (possible.status !== 0) {
    const reason = (possible.error?.message ?? possible.stderr).trim().split("\n")[0] ?? "";
    process.stdout.write(
      `skipped: network namespaces cannot be made here, which needs root, unshare and ip (iproute2): ${reason}\n`,
    );
  } else {
    const { status } = spawnSync("unshare", [...enter, process.execPath, fileURLToPath(import.meta.url)], {
      stdio: "inherit",
      env: { ...process.env, [inside]: "1" },
    });
    process.exitCode = status ?? 1;
  }
} else {
  execFileSync("sh", ["-c", ownFolder]);
  const { runFigures } = await import("./figures.js");
  process.exitCode = (await runFigures()) ? 0 : 1;
}
