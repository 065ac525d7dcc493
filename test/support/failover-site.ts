import { monotonicMs } from "../../src/base/deadline.js";
import { SseDecoder, type StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import type { DaemonProcess } from "./daemon.js";
import { type FleetShape, type FleetSite, startFleet } from "./fleet-site.js";
import { GitFixture } from "./git-fixture.js";
import type { Owner } from "./shared.js";

/** Files of each of three repositories, and matches of each line. */
const files = 100;
const matchesOfLine = 10;

/** A coordinator, and two other nodes that both have three repositories. */
export interface FailoverSite extends FleetSite {
  readonly fixtures: readonly GitFixture[];
  /** Matches of `needle`, and bytes that a search for them has at least. */
  readonly matchCount: number;
  readonly bytesMin: number;
}

/** `lines` is about a thousandth of the matches that a search has. */
export async function failoverSite(owner: Owner, lines: number, shape: FleetShape = {}): Promise<FailoverSite> {
  const linesOfFile = Math.ceil(lines / 3);
  const textOf = (repository: number, file: number): string =>
    Array.from(
      { length: linesOfFile },
      (_, line) => `${repository} ${file} ${line} ${"needle ".repeat(matchesOfLine)}\n`,
    ).join("");
  const fixtures = Array.from({ length: 4 }, (_, repository) => {
    const fixture = GitFixture.create();
    owner.teardown(() => fixture.remove());
    const paths = repository === 3 ? ["only.txt"] : Array.from({ length: files }, (_, i) => `folder${i % 7}/${i}.txt`);
    const text = (file: number): string => (repository === 3 ? "a needle\n" : textOf(repository, file));
    fixture.commit({ branch: "main", files: Object.fromEntries(paths.map((path, i) => [path, text(i)])) });
    return fixture;
  });
  const configured = fixtures.map(({ path }, i) => ({ name: `r${i}`, url: path }));
  // Replicas that number their repositories differently, and have other shards.
  const nodes = [configured.slice(3), configured.slice(0, 3), configured.slice(0, 3).reverse()];
  const args = ["--set", "search.defaultTimeoutSeconds=60", "--set", "index.symbols=false"];
  const configuration = shape.hosts === undefined ? {} : { auth: { public: true } };
  const fleet = await startFleet(owner, nodes, configuration, args, { ...shape, replicas: ["node-1,node-2"] });
  const lineCount = 3 * files * linesOfFile;
  return { ...fleet, fixtures, matchCount: lineCount * matchesOfLine + 1, bytesMin: lineCount * 200 };
}

/** Whether the coordinator has a connection to the replica that is asked first. */
export async function isConnected({ nodes: [coordinator] }: FleetSite): Promise<boolean> {
  return (await coordinator.get("/metrics")).text.includes('trawl_fleet_node_up{node="node-1"} 1');
}

export interface Answer {
  readonly events: readonly StreamEvent[];
  readonly ms: number;
}

/** Searches, and calls `fault` when this many bytes have come. */
export async function search(
  node: DaemonProcess,
  bytes: number,
  fault: () => void,
  text = "needle",
  more: Readonly<Record<string, string>> = {},
  patterns?: readonly string[],
): Promise<Answer> {
  const startedMs = monotonicMs();
  const stream = await node.openStream(text, "literal", { receipt: "1", ...more }, patterns);
  const decoder = new SseDecoder();
  const events: StreamEvent[] = [];
  let left = bytes;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    events.push(...decoder.push(chunk));
    if (left > 0 && (left -= chunk.length) <= 0) fault();
  }
  return { events, ms: monotonicMs() - startedMs };
}

/** What is wrong with an answer; "" if it has every match once. */
export function faultsOf({ events }: Answer, matchCount: number): string {
  const seen = new Set<string>();
  const ids = new Map<string, Set<unknown>>();
  let count = 0;
  let repeated = 0;
  for (const { name, data } of events) {
    if (name === "error" || name === "alert") return `${name}: ${data}`;
    if (name !== "matches") continue;
    for (const { repository = "", path = "", repositoryID, lineMatches = [] } of JSON.parse(data) as (StreamMatch & {
      repositoryID: number;
    })[]) {
      ids.set(repository, (ids.get(repository) ?? new Set()).add(repositoryID));
      for (const { lineNumber, offsetAndLengths } of lineMatches) {
        const line = `${repository} ${path} ${lineNumber}`;
        if (seen.has(line)) repeated++;
        seen.add(line);
        count += offsetAndLengths.length;
      }
    }
  }
  const progress = JSON.parse(events.findLast(({ name }) => name === "progress")?.data ?? "{}") as Partial<Progress>;
  const isComplete = progress.receipt?.complete === true && progress.skipped?.length === 0;
  const isIdentified = [...ids.values()].every(({ size }) => size === 1);
  if (count === matchCount && repeated === 0 && progress.matchCount === matchCount && isComplete && isIdentified)
    return "";
  return `${count} of ${matchCount} matches, ${repeated} lines twice, ${JSON.stringify({ ...progress, receipt: progress.receipt?.complete })}`;
}
