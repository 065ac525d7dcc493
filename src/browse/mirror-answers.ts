import { setImmediate } from "node:timers/promises";
import { unreachable } from "../base/assert.js";
import { errorMessage, serializeError, TrawlError } from "../base/errors.js";
import { FairSemaphore, refusalError, type Release, shareLimits } from "../base/fair-semaphore.js";
import type { Log } from "../base/log.js";
import { mapInSteps, resultWhileYielding } from "../base/yielding.js";
import type { Catalog } from "../catalog/catalog.js";
import type { GitOutput } from "../git/run/run.js";
import type { Repository } from "../model/repository.js";
import type { ReadLimits } from "../pool/read-pool.js";
import type { Channel } from "../search/fleet/local-channel.js";
import type { SearchFleet } from "../search/source/search-fleet.js";
import type { FrameReceiver } from "../wire/frame-channel.js";
import type { Frame } from "../wire/frames.js";
import {
  type AnsweringHead,
  askingHead,
  type AwaitedCommit,
  checkAnswer,
  checkFetches,
  checkRecord,
  checkRecords,
  checkWaited,
  listedAtOnce,
  listedMax,
  type MirrorAsked,
  type MirrorRead,
  type OwnerQuestion,
  pieceBytes,
  queuedMax,
  readMirrorAsked,
  type RepositoryOrder,
  type RequestedFetches,
  toAnsweringHead,
  type WantedOutput,
  writeAnswer,
} from "./mirror-messages.js";
import type { Mirrors } from "./mirrors.js";

/** Bytes of an output that wait to be sent: git waits while there are more. */
const waitingBytesMax = 256 * 1024;

/** Bytes of all answers that have not been sent. Further questions are refused. */
const unsentBytesMax = 256 << 20;

/** Outputs that are read for other nodes at the same time, which have such limits for their clients, and those that wait. */
const outputsMax = { blob: 64, archive: 8, blame: 4 } as const;
const outputsWaitingMax = 256;

/** Waits for commits for other nodes, most of which do nothing. */
const waitsMax = 1_000;

/** Of those and of the reads, one client may have so much. */
const sharePercent = 50;

/** For whom another node asks, and until when. */
export interface Asker extends Pick<MirrorAsked, "viewer" | "client" | "timeoutMs"> {
  /** Calls back when nobody wants the result any more. */
  onClosed(callback: () => void): void;
}

/** What the node that fetches a repository does for others. */
export interface OwnerCommands {
  /** Rejects like `waitForCommit`. */
  waitForCommit(commit: AwaitedCommit, asker: Asker): Promise<void>;
  /** Rejects like `orderRepository`. */
  orderRepository(order: RepositoryOrder, asker: Asker): Promise<void>;
  /** Schedules fetches of the repositories with any of these addresses, of those that it fetches and for which `isAsked`; returns their names. */
  requestFetches(addresses: readonly string[], isAsked: (repositoryId: number) => boolean): readonly string[];
}

export interface MirrorAnswersSettings {
  /** This node. */
  readonly name: string;
  readonly mirrors: Mirrors;
  readonly catalog: Pick<Catalog, "repositoryTable" | "shareInSteps" | "partitions" | "positionIn">;
  readonly commands: OwnerCommands;
  readonly fleet: () => SearchFleet | undefined;
  readonly log: Log;
}

/** What other nodes ask this one about its repositories. It decides what the viewer for whom they ask may see. */
export class MirrorAnswers {
  readonly #settings: MirrorAnswersSettings;
  readonly #permits = {
    blob: permits("blob"),
    archive: permits("archive"),
    blame: permits("blame"),
    wait: new FairSemaphore(shareLimits(waitsMax, 0, sharePercent)),
  };
  #unsentBytes = 0;

  constructor(settings: MirrorAnswersSettings) {
    this.#settings = settings;
  }

  /** The receiver of a channel that a node has opened. */
  accept(node: string, channel: () => Channel): FrameReceiver {
    return new MirrorAnswer(node, channel, this);
  }

  get log(): Log {
    return this.#settings.log;
  }

  /** Throws `overloaded` while answers of many bytes wait to be sent. */
  requireRoom(): void {
    if (this.#unsentBytes > unsentBytesMax)
      throw new TrawlError(
        "overloaded",
        `node ${this.#settings.name} has too many answers to send: try again in a moment`,
      );
  }

  /** Returns what must be called when they have been sent. */
  countUnsent(byteCount: number): () => void {
    this.#unsentBytes += byteCount;
    return () => {
      this.#unsentBytes -= byteCount;
    };
  }

  find({ viewer }: MirrorAsked, repository: string | number): Repository | undefined {
    this.#settings.fleet()?.requireKnowing(repository);
    const table = this.#settings.catalog.repositoryTable(viewer);
    return typeof repository === "string" ? table.byName(repository) : table.byId(repository);
  }

  /**
   * Resolves with how many changes its partition has had when the command for the repository has been carried out. Throws `overloaded` if it
   * is another node that fetches the repository.
   */
  async command(
    repository: string,
    carryOut: (commands: OwnerCommands) => Promise<void>,
  ): Promise<{ readonly version: number }> {
    const { fleet, name, catalog, commands } = this.#settings;
    const owner = fleet()?.findOwner(repository);
    if (owner !== undefined)
      throw new TrawlError(
        "overloaded",
        `node ${name} does not fetch the repository any more, but node ${owner.name}: try again in a moment`,
      );
    await carryOut(commands);
    return { version: catalog.positionIn(catalog.partitions.place(repository)).version };
  }

  /** Throws `forbidden` if it is not for the operator, as the names are of all repositories. */
  requestFetches(
    { viewer }: MirrorAsked,
    { partitions, addresses }: Extract<MirrorAsked["question"], { kind: "fetch" }>,
  ): RequestedFetches {
    if (!viewer.isSiteAdmin)
      throw new TrawlError("forbidden", "fetches by address are requested for the operator only");
    const { fleet, catalog, commands } = this.#settings;
    const notOwned = fleet()?.findNotOwned(partitions) ?? [];
    const share = partitions && catalog.partitions.share(partitions.numbers);
    const queued = commands.requestFetches(addresses, (id) => share?.has(id) !== false);
    return { queued: queued.slice(0, queuedMax), notOwned };
  }

  /** The repositories that the viewer sees, some at a time. Throws `content-too-large` if there are too many. */
  async list(
    { viewer }: MirrorAsked,
    { partitions, names }: Extract<MirrorAsked["question"], { kind: "list" }>,
  ): Promise<readonly Repository[]> {
    const { fleet, catalog, name } = this.#settings;
    fleet()?.requirePartitions(partitions);
    const whole = catalog.repositoryTable(viewer);
    if (names !== undefined) {
      const isIn = partitions === undefined ? undefined : catalog.partitions.share(partitions.numbers);
      const found = await resultWhileYielding(mapInSteps(names, (one) => whole.byName(one)));
      return found.flatMap((one) => (one !== undefined && isIn?.has(one.id) !== false ? [one] : []));
    }
    const table =
      partitions === undefined
        ? whole
        : await resultWhileYielding(catalog.shareInSteps(viewer, catalog.partitions.share(partitions.numbers)));
    if (table.count <= listedMax) return table.values();
    throw new TrawlError(
      "content-too-large",
      `node ${name} has ${table.count} repositories for this list, and nodes of a fleet list ${listedMax} at most: give names, or search with type:repo`,
    );
  }

  /** Throws `not-found` if the viewer does not see it, `overloaded` if another node reads its mirror. */
  #require({ viewer }: MirrorAsked, repositoryId: number): Repository {
    const { fleet, catalog, name } = this.#settings;
    const reader = fleet()?.findReader(repositoryId);
    if (reader !== undefined)
      throw new TrawlError(
        "overloaded",
        `node ${name} does not have the mirror of the repository any more, but node ${reader.name}: try again in a moment`,
      );
    const record = catalog.repositoryTable(viewer).byId(repositoryId);
    if (record !== undefined) return record;
    throw new TrawlError("not-found", "there is no such repository any more, or you may not see it");
  }

  async read(asked: MirrorAsked, repositoryId: number, request: MirrorRead, limits: ReadLimits): Promise<Uint8Array> {
    const record = this.#require(asked, repositoryId);
    const own = ofRepository(request, record);
    return writeAnswer(checkAnswer(own.kind, await this.#settings.mirrors.runHere(own, repositoryId, limits)));
  }

  async open(asked: MirrorAsked, repositoryId: number, wanted: WantedOutput, limits: ReadLimits): Promise<GitOutput> {
    this.#require(asked, repositoryId);
    return await this.#settings.mirrors.openHere(repositoryId, wanted, limits);
  }

  /** Resolves when the client may have such an output, or wait. Throws `overloaded` or `too-many-requests`. */
  async takePermit(
    kind: WantedOutput["kind"] | "wait",
    client: string,
    onEnd: (leave: Release) => void,
  ): Promise<Release> {
    const full = this.#permits[kind].refusal(client);
    if (full !== undefined)
      throw refusalError(
        full,
        kind === "wait" ? "waits for commits and fetches" : "outputs of mirrors for other nodes",
      );
    return await new Promise((resolve) => {
      onEnd(this.#permits[kind].acquire(client, resolve));
    });
  }
}

function permits(kind: WantedOutput["kind"]): FairSemaphore {
  return new FairSemaphore(shareLimits(outputsMax[kind], outputsWaitingMax, sharePercent));
}

/** The same request, about the repository as this node knows it. */
function ofRepository(request: MirrorRead, { id, lfsTree }: Repository): MirrorRead {
  if (request.kind === "resolve-revisions")
    return { ...request, repositories: [{ ...request.repositories[0], repositoryId: id }] };
  return "lfsTree" in request ? { ...request, repositoryId: id, lfsTree } : { ...request, repositoryId: id };
}

/** The answer to one question of another node. */
class MirrorAnswer implements FrameReceiver {
  readonly #node: string;
  readonly #channel: () => Channel;
  readonly #answers: MirrorAnswers;
  /** Its first word is set when nobody wants the answer any more. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  #isAsked = false;
  #isClosed = false;
  /** Called when nobody wants the answer any more. */
  #onClosed: () => void = () => undefined;

  constructor(node: string, channel: () => Channel, answers: MirrorAnswers) {
    this.#node = node;
    this.#channel = channel;
    this.#answers = answers;
  }

  frame({ head, body }: Frame): void {
    askingHead(head, "mirror");
    if (this.#isAsked) throw new TrawlError("bad-request", "a second question over one channel");
    this.#isAsked = true;
    void this.#answer(readMirrorAsked(body));
  }

  closed(): void {
    this.#isClosed = true;
    Atomics.store(this.#stop, 0, 1);
    this.#onClosed();
  }

  /** Never rejects. */
  async #answer(asked: MirrorAsked): Promise<void> {
    try {
      await this.#give(asked);
      this.#send({ kind: "end" });
    } catch (error) {
      this.#fail(error);
    }
    this.#channel().finish();
  }

  async #give(asked: MirrorAsked): Promise<void> {
    const { question, timeoutMs, client } = asked;
    const limits = { timeoutMs, client, stop: this.#stop };
    this.#answers.requireRoom();
    switch (question.kind) {
      case "find":
        return this.#sendValue(writeAnswer(checkRecord(this.#answers.find(asked, question.repository), "find")));
      case "wait":
      case "order":
        return this.#sendValue(writeAnswer(checkWaited(await this.#command(question, asked), question.kind)));
      case "fetch":
        return this.#sendValue(writeAnswer(checkFetches(this.#answers.requestFetches(asked, question), "fetch")));
      case "list":
        return await this.#sendRecords(await this.#answers.list(asked, question));
      case "read":
        return this.#sendValue(await this.#answers.read(asked, question.repositoryId, question.request, limits));
      case "output":
        return await this.#sendOutput(asked, question.repositoryId, question.wanted, limits);
      default:
        return unreachable(question);
    }
  }

  async #command(question: OwnerQuestion, asked: MirrorAsked): Promise<{ readonly version: number }> {
    const release = await this.#answers.takePermit("wait", asked.client, (leave) => {
      this.#onClosed = leave;
    });
    try {
      const asker = this.#toAsker(asked);
      return question.kind === "wait"
        ? await this.#answers.command(question.commit.repository, (all) => all.waitForCommit(question.commit, asker))
        : await this.#answers.command(question.order.repository, (all) => all.orderRepository(question.order, asker));
    } finally {
      release();
    }
  }

  #toAsker({ viewer, client, timeoutMs }: MirrorAsked): Asker {
    const onClosed = (callback: () => void): void => {
      this.#onClosed = callback;
      if (this.#isClosed) callback();
    };
    return { viewer, client, timeoutMs, onClosed };
  }

  #sendValue(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = bytes.subarray(at, at + pieceBytes);
      this.#send({ kind: "bytes" }, piece, this.#answers.countUnsent(piece.length));
    }
  }

  async #sendRecords(records: readonly Repository[]): Promise<void> {
    for (let at = 0; at < records.length && !this.#isClosed; at += listedAtOnce) {
      const piece = writeAnswer(checkRecords(records.slice(at, at + listedAtOnce), "list"));
      this.#send({ kind: "bytes" }, piece, this.#answers.countUnsent(piece.length));
      await setImmediate();
    }
  }

  async #sendOutput(asked: MirrorAsked, repositoryId: number, wanted: WantedOutput, limits: ReadLimits): Promise<void> {
    const release = await this.#answers.takePermit(wanted.kind, asked.client, (leave) => {
      this.#onClosed = leave;
    });
    try {
      if (this.#isClosed) return;
      const output = await this.#answers.open(asked, repositoryId, wanted, limits);
      this.#onClosed = () => output.kill();
      if (this.#isClosed) output.kill();
      const { from, to } = wanted.kind === "blob" ? wanted : { from: 0, to: Infinity };
      await this.#pass(output, from, to);
    } finally {
      release();
    }
  }

  /** Sends a part of the output, at the pace at which it is taken. */
  async #pass(output: GitOutput, from: number, to: number): Promise<void> {
    let [readCount, waitingCount, isPaused] = [output.from, 0, false];
    const resume = (): void => {
      isPaused = false;
      output.watchSilence(true);
      output.stdout.resume();
    };
    await new Promise<void>((resolve, reject) => {
      output.stdout.on("data", (chunk: Buffer) => {
        const start = Math.max(0, from - readCount);
        const end = Math.min(chunk.length, to - readCount);
        readCount += chunk.length;
        if (start < end) {
          waitingCount += end - start;
          this.#send({ kind: "bytes" }, chunk.subarray(start, end), () => {
            waitingCount -= end - start;
            if (isPaused && waitingCount <= waitingBytesMax / 2) resume();
          });
        }
        if (readCount >= to) resolve();
        if (waitingCount <= waitingBytesMax || isPaused) return;
        isPaused = true;
        output.watchSilence(false);
        output.stdout.pause();
      });
      output.ended.then(resolve, reject);
    }).finally(() => output.kill());
  }

  #fail(error: unknown): void {
    const { code, message } = serializeError(error);
    if (code === "internal")
      this.#answers.log.error(
        { node: this.#node, error: error instanceof Error ? (error.stack ?? error.message) : errorMessage(error) },
        "a question of another node about a repository could not be answered",
      );
    this.#send({ kind: "failed", error: { code, message: message.slice(0, 16_000) } });
  }

  #send(head: AnsweringHead, body?: Uint8Array, release?: () => void): void {
    toAnsweringHead(head);
    this.#channel().send(head, body, release);
  }
}
