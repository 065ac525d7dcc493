import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { deserialize } from "node:v8";
import { silentLog } from "../../src/base/log.js";
import { programVersion } from "../../src/daemon/parts/program.js";
import { type Asked, emptyPart, type LeafMessage, noCounts } from "../../src/search/fleet/fleet-messages.js";
import { sections } from "../../src/search/fleet/result-order.js";
import { nodeIdSpan } from "../../src/search/source/search-fleet.js";
import type { FrameChannel, FrameReceiver } from "../../src/wire/frame-channel.js";
import { readIdentity } from "../../src/wire/identity.js";
import { NodeServer } from "../../src/wire/node-server.js";
import type { CertificateFiles } from "../support/fleet-site.js";
import type { Owner } from "../support/shared.js";

/** A node that only pretends: its results are ready, and it sends them as fast as its credit allows, whatever is asked. */
export interface ReadyLeaf {
  readonly fleetId: string;
  readonly name: string;
  /** Its index in `fleet.nodes`. */
  readonly index: number;
  readonly coordinator: string;
  readonly port: number;
  readonly files: CertificateFiles;
  /** Of all results; absent for results without an end. */
  readonly resultBytes?: number;
}

/** Of a batch of a search for everything. */
const batchBytesMax = 224 * 1024;

/** Bytes of a match object, about as many as those of source code have. */
const objectBytes = 400;

/** Starts it in this process. Returns what stops it. */
export async function startReadyLeaf(leaf: ReadyLeaf): Promise<() => Promise<void>> {
  const server = new NodeServer({
    identity: readIdentity(leaf.fleetId, leaf.name, leaf.files),
    nodes: () => [leaf.coordinator],
    nodesMax: 1,
    protocol: programVersion(),
    log: silentLog(),
    accept: (_node, channel) => new ReadySearch(leaf, channel),
  });
  await server.start("127.0.0.1", leaf.port);
  return () => server.stop();
}

/** Starts it in a process of its own, which ends with the owner. Resolves with the id of the process. */
export async function forkReadyLeaf(owner: Owner, leaf: ReadyLeaf): Promise<number> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(leaf)]);
  owner.teardown(() => child.kill("SIGKILL"));
  await new Promise((resolve) => child.once("message", resolve));
  return child.pid ?? 0;
}

/** One search of the coordinator. */
class ReadySearch implements FrameReceiver {
  readonly #leaf: ReadyLeaf;
  readonly #channel: () => FrameChannel;
  readonly #id: number;
  readonly #match: string;
  #batch = Buffer.alloc(0);
  #objectCount = 0;
  #asked: Asked | undefined;
  #isOver = false;
  #credit = 0;
  #sentBytes = 0;
  #matches = 0;

  constructor(leaf: ReadyLeaf, channel: () => FrameChannel) {
    this.#leaf = leaf;
    this.#channel = channel;
    this.#id = leaf.index * nodeIdSpan + 1;
    const start = { type: "content", repositoryID: this.#id, repository: leaf.name };
    const path = "x".repeat(objectBytes - JSON.stringify({ ...start, path: "" }).length - 1);
    this.#match = JSON.stringify({ ...start, path });
  }

  /** A batch is half of the credit at most, as those of real leaves. */
  #begin(creditBytes: number): void {
    this.#credit = creditBytes;
    this.#objectCount = Math.ceil(Math.min(batchBytesMax, creditBytes / 2) / objectBytes);
    this.#batch = Buffer.from(Array.from({ length: this.#objectCount }, () => this.#match).join(","));
  }

  frame({ head, body }: Parameters<FrameReceiver["frame"]>[0]): void {
    if (head["kind"] === "credit") this.#credit += Number(head["bytes"]);
    else if (head["kind"] === "ask") {
      this.#asked = deserialize(body) as Asked;
      this.#begin(Number(head["creditBytes"]));
      const chosen = { count: 1, first: [this.#leaf.name] };
      this.#send({ kind: "prepared", part: emptyPart(this.#asked.plan), chosen });
    }
    this.#goOn();
  }

  closed(): void {
    this.#isOver = true;
  }

  #send(message: LeafMessage, body?: Uint8Array): void {
    this.#channel().send(message, body);
  }

  #goOn(): void {
    const { resultBytes = Number.POSITIVE_INFINITY } = this.#leaf;
    while (!this.#isOver && !this.#channel().isClosed && this.#credit > 0 && this.#sentBytes < resultBytes) {
      this.#credit -= this.#batch.length;
      this.#sentBytes += this.#batch.length;
      this.#matches += this.#objectCount;
      this.#sendBatch();
    }
    if (this.#isOver || this.#asked === undefined || this.#sentBytes < resultBytes) return;
    this.#isOver = true;
    this.#send({
      kind: "end",
      counts: this.#counts(),
      part: emptyPart(this.#asked.plan),
      receipt: undefined,
      hasToldCovered: undefined,
    });
  }

  #counts() {
    return { ...noCounts, matches: this.#matches, displayed: this.#matches };
  }

  #sendBatch(): void {
    const tally = {
      repositories: [[this.#id, this.#leaf.name, "", this.#objectCount, ""]] as const,
      languages: [],
      fileKinds: [0, 0, 0, 0, 0, 0, 0, 0],
      contentMatches: this.#objectCount,
      symbolMatches: 0,
      symbolKinds: [],
      pathMatches: 0,
      unownedResults: 0,
      groups: [],
    };
    const at = [sections.others];
    const counts = this.#counts();
    this.#send(
      {
        kind: "batch",
        at,
        document: undefined,
        counts,
        tally,
        digest: undefined,
        markBytes: 0,
        contents: undefined,
        isPart: false,
      },
      this.#batch,
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.send !== undefined) {
  process.on("disconnect", () => process.exit());
  await startReadyLeaf(JSON.parse(process.argv[2] ?? "") as ReadyLeaf);
  process.send("ready");
}
