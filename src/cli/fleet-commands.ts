import { Option, type Command } from "commander";
import type { FleetShape } from "../fleet/fleet-records.js";
import { print, wholeNumber } from "./terminal/command-options.js";

function configOption(): Option {
  return new Option("-c, --config <file>", "configuration file of this node").makeOptionMandatory();
}

function waitOption(description: string): Option {
  return new Option("--wait <seconds>", description).default(60).argParser(wholeNumber(0, 3_600));
}

/** Adds `trawl fleet`, for nodes whose fleet has a database. */
export function addFleet(program: Command): void {
  const fleet = program
    .command("fleet")
    .description("Make a fleet of nodes that share an index, add nodes to it, and show them.");
  fleet
    .command("init")
    .addOption(configOption())
    .addOption(
      new Option(
        "--partitions <number>",
        "into how many parts the index of a new fleet is divided, for ever; 1 if it is not given",
      ).argParser(wholeNumber(1, 4_096)),
    )
    .addOption(
      new Option(
        "--copies <number>",
        "how many nodes have a copy of each part; 0 for all nodes, as if it is not given. May be changed",
      ).argParser(wholeNumber(0, 64)),
    )
    .option("--import", "begin with the index of this data directory, which was made without a fleet", false)
    .description(
      "Make the fleet in an empty database, and try the place for its objects. Once for all nodes; it may be repeated.",
    )
    .action(async ({ config, import: imports, ...shape }: { config: string; import: boolean } & FleetShape) => {
      const { importFleet, initFleet } = await import("./run-fleet.js");
      await (imports ? importFleet : initFleet)(config, print, shape);
    });
  fleet
    .command("join")
    .addOption(configOption())
    .option("--replace", "replace a node with this name that has lost its data directory", false)
    .description("Make the data directory of this configuration, which must be empty, that of a new node of the fleet.")
    .action(async ({ config, replace }: { config: string; replace: boolean }) => {
      const { joinFleet } = await import("./run-fleet.js");
      await joinFleet(config, replace, print);
    });
  fleet
    .command("status")
    .addOption(configOption())
    .description("Show the nodes, which of them fetches and indexes, and how far the others have followed.")
    .option("--json", "print one JSON object", false)
    .action(async ({ config, json }: { config: string; json: boolean }) => {
      const { fleetStatus } = await import("./run-fleet.js");
      print(await fleetStatus(config, json));
    });
  fleet
    .command("drain <node>")
    .addOption(configOption())
    .addOption(waitOption("how long to wait until another node fetches and indexes"))
    .option("--undo", "let the node be used again", false)
    .description("Let another node fetch and index, before this one is stopped for good or for long.")
    .action(async (node: string, { config, wait, undo }: { config: string; wait: number; undo: boolean }) => {
      const { drainNode } = await import("./run-fleet.js");
      await drainNode(config, node, { waitSeconds: wait, isUndone: undo }, print);
    });
  fleet
    .command("leave")
    .addOption(configOption())
    .addOption(waitOption("how long to wait until other nodes fetch and index what it did"))
    .option("--without-database", "the database of the fleet is lost: do not ask it", false)
    .description("Make the data directory of this node, which must be stopped, that of a single host with its index.")
    .action(async ({ config, wait, withoutDatabase }: { config: string; wait: number; withoutDatabase: boolean }) => {
      const { leaveFleet } = await import("./run-fleet.js");
      await leaveFleet(config, { withoutDatabase, waitSeconds: wait }, print);
    });
}
