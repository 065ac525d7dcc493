/**
 * `make fleet-test`: the figures of a fleet in a quick form, with three nodes in network namespaces of their own, so that links between
 * them can be cut as between hosts. Ends with `N passed, N failed`.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const inside = "TRAWL_FLEET_TEST_INSIDE";

if (process.env[inside] === undefined) {
  // What is made in the two namespaces goes with them.
  const enter = ["--net", "--mount", "--propagation", "private", "--"];
  const possible = spawnSync(
    "unshare",
    [...enter, "sh", "-c", "mkdir -p /run/netns && ip link add name bridge0 type bridge"],
    {
      encoding: "utf8",
    },
  );
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
  execFileSync("mkdir", ["-p", "/run/netns"]);
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", "/run/netns"]);
  const { runFigures } = await import("./figures.js");
  process.exitCode = (await runFigures()) ? 0 : 1;
}
