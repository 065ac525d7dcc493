import { Readable } from "node:stream";
import { unreachable } from "../base/assert.js";
import { callAfter, monotonicMs, sleep } from "../base/deadline.js";
import { deserializeError, errorMessage, type SerializedError, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import type { GitOutput } from "../git/run/run.js";
import type { Repository } from "../model/repository.js";
import type { ReadAnswer, ReadKinds } from "../protocol/read-messages.js";
import type { ListedElsewhere, OwnerElsewhere, RepositoryHolder, SearchFleet } from "../search/source/search-fleet.js";
import type { FrameReceiver } from "../wire/frame-channel.js";
import type { Frame } from "../wire/frames.js";
import {
  addressesMax,
  addressLengthMax,
  answerBytesMax,
  askingHead,
  checkAnswer,
  checkFetches,
  checkRecord,
  checkRecords,
  checkWaited,
  type ListedRepositories,
  listedMax,
  type MirrorLimits,
  type MirrorQuestion,
  type MirrorReadKind,
  type OwnerQuestion,
  queuedMax,
  type RequestedFetches,
  readAnswer,
  toAnsweringHead,
  type WantedOutput,
  writeMirrorAsked,
} from "./mirror-messages.js";
import { mirrorKind } from "../search/fleet/leaf-server.js";

/** Bytes of an output that are here before its reader has taken them. */
const outputBytesMax = 256 * 1024;

/** What a node is asked to do takes as long as its caller may; then it is told so itself, and this node does not wait for it. */
const graceMs = 1_000;

const ofSeveral: ReadonlySet<MirrorQuestion["kind"]> = new Set(["list", "fetch"]);

/** The first pause before owners are looked for again. */
const fetchPauseMs = 250;

/** Sentences about nodes that an answer has. */
const lacksMax = 10;

/** What other nodes will fetch, sentences about what they could not be told, and the partitions that these are about; undefined for all. */
export interface FetchesElsewhere {
  readonly queued: readonly string[];
  readonly lacks: readonly string[];
  readonly lacking: ReadonlySet<number> | undefined;
}

/** What this node asks others, where they have the mirror of a repository, or its record. */
export class RemoteMirrors {
  readonly #log: Log;
  readonly #metrics: QuestionMetrics;

  constructor(log: Log, metrics: QuestionMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** Throws like `Mirrors.run`. */
  async read<Kind extends MirrorReadKind>(
    holder: RepositoryHolder,
    repositoryId: number,
    request: ReadKinds[Kind]["request"] & { readonly kind: Kind },
    limits: MirrorLimits,
  ): Promise<ReadAnswer<Kind>> {
    const question = { kind: "read", repositoryId: repositoryId - holder.idsFrom, request } as const;
    const check = (answer: unknown): ReadAnswer<Kind> => checkAnswer(request.kind, answer) as ReadAnswer<Kind>;
    return await this.#ask(holder, question, limits, check);
  }

  open(holder: RepositoryHolder, repositoryId: number, wanted: WantedOutput, limits: MirrorLimits): GitOutput {
    const question = { kind: "output", repositoryId: repositoryId - holder.idsFrom, wanted } as const;
    const body = writeMirrorAsked({ ...asker(limits), question });
    const output = new RemoteOutput(holder, wanted.kind === "blob" ? wanted.from : 0, body, {
      measure: new QuestionMeasure("output", this.#metrics),
      lost: (reason) => this.#lost(holder, reason),
      failed: (error) => this.#failure(holder, error),
    });
    const forget = limits.onCancel(() => output.kill());
    void output.ended.then(forget, forget);
    return output;
  }

  /** Rejects like `waitForCommit` or `orderRepository`. */
  async askOwner(
    holder: RepositoryHolder,
    question: OwnerQuestion,
    limits: MirrorLimits,
  ): Promise<{ readonly version: number }> {
    return await this.#ask(holder, question, limits, (answer) => checkWaited(answer, question.kind));
  }

  /**
   * Has other nodes fetch what has one of these addresses, those that own the partitions and each for its own. Those that do not answer,
   * or do not own something any more, are looked for again until the time is over.
   */
  async requestFetches(
    findOwners: SearchFleet["findOwners"],
    given: readonly string[],
    limits: MirrorLimits,
  ): Promise<FetchesElsewhere> {
    // No repository has a longer one.
    const addresses = given.filter(({ length }) => length <= addressLengthMax).slice(0, addressesMax);
    if (addresses.length === 0) return { queued: [], lacks: [], lacking: new Set() };
    const endMs = monotonicMs() + limits.timeoutMs;
    const queued = new Set<string>();
    let left: ReadonlySet<number> | undefined;
    for (let pauseMs = fetchPauseMs; ; pauseMs *= 2) {
      const { owners, missing } = findOwners();
      const wanted = left;
      const asked = wanted === undefined ? owners : among(owners, wanted);
      const lacking = new Set(wanted === undefined ? missing : missing.filter((number) => wanted.has(number)));
      const lacks = lacking.size === 0 ? [] : [sayUnowned(lacking)];
      const roundLimits = { ...limits, timeoutMs: Math.max(1, endMs - monotonicMs()) };
      await Promise.all(
        asked.map(async ({ holder, partitions }) => {
          try {
            const told = await this.#fetchAt(holder, partitions, addresses, roundLimits);
            for (const name of told.queued) if (queued.size < queuedMax) queued.add(name);
            if (told.notOwned.length > 0)
              lacks.push(`node ${holder.name} of this fleet does not fetch all that it did`);
            for (const number of told.notOwned) lacking.add(number);
          } catch (error) {
            if (!(error instanceof TrawlError)) throw error;
            lacks.push(error.message);
            for (const number of partitions?.numbers ?? []) lacking.add(number);
          }
        }),
      );
      // Where there are no partitions, another look finds the same nodes.
      const isOver = lacking.size === 0 || monotonicMs() + pauseMs >= endMs;
      if (isOver) return { queued: [...queued], lacks: [...new Set(lacks)].slice(0, lacksMax), lacking };
      left = lacking;
      await sleep(pauseMs);
    }
  }

  async #fetchAt(
    holder: RepositoryHolder,
    partitions: OwnerElsewhere["partitions"],
    addresses: readonly string[],
    limits: MirrorLimits,
  ): Promise<RequestedFetches> {
    const question = { kind: "fetch", partitions, addresses } as const;
    const told = await this.#ask(holder, question, limits, (answer) => checkFetches(answer, "fetch"));
    const isAsked = new Set(partitions?.numbers);
    return { queued: told.queued, notOwned: told.notOwned.filter((number) => isAsked.has(number)) };
  }

  /** Asks one node of each list, and the next one if it does not answer. */
  async find(
    lists: readonly (readonly RepositoryHolder[])[],
    repository: string | number,
    limits: MirrorLimits,
  ): Promise<Repository | undefined> {
    const found = await Promise.allSettled(lists.map((holders) => this.#findAtFirst(holders, repository, limits)));
    const record = found.map((one) => (one.status === "fulfilled" ? one.value : undefined)).find(Boolean);
    if (record !== undefined) return record;
    // Whoever does not answer may have it.
    for (const one of found) if (one.status === "rejected") throw one.reason;
    return undefined;
  }

  /** The repositories that the nodes list for the viewer, and a sentence for each that could not. */
  async list(
    lists: readonly ListedElsewhere[],
    names: readonly string[] | undefined,
    limits: MirrorLimits,
  ): Promise<ListedRepositories> {
    const room = { left: listedMax };
    const listed = await Promise.allSettled(
      lists.map(({ holders, partitions }) =>
        this.#atFirst(holders, (holder) => this.#listAt(holder, { kind: "list", partitions, names }, limits, room)),
      ),
    );
    const lacks = new Set<string>();
    const records = listed.flatMap((one) => {
      if (one.status === "fulfilled") return one.value;
      if (!(one.reason instanceof TrawlError) || !isLack(one.reason)) throw one.reason;
      lacks.add(one.reason.message);
      return [];
    });
    return { records, lacks: [...lacks] };
  }

  /** Takes the room of its records, and gives it back if they are not all. */
  async #listAt(
    holder: RepositoryHolder,
    question: MirrorQuestion,
    limits: MirrorLimits,
    room: { left: number },
  ): Promise<readonly Repository[]> {
    const records: Repository[] = [];
    const take = (piece: Uint8Array): TrawlError | undefined => {
      const found = checkRecords(readAnswer(piece), "list");
      for (const record of found) records.push({ ...record, id: record.id + holder.idsFrom });
      room.left -= found.length;
      return room.left < 0 ? tooMany : undefined;
    };
    try {
      await this.#ask(holder, question, limits, undefined, take);
    } catch (error) {
      room.left += records.length;
      throw error;
    }
    return records;
  }

  #findAtFirst(
    holders: readonly RepositoryHolder[],
    repository: string | number,
    limits: MirrorLimits,
  ): Promise<Repository | undefined> {
    return this.#atFirst(holders, (holder) => this.#findAt(holder, repository, limits));
  }

  /** What the first node answers that is there. */
  async #atFirst<T>(holders: readonly RepositoryHolder[], ask: (holder: RepositoryHolder) => Promise<T>): Promise<T> {
    let failure: unknown;
    for (const holder of holders) {
      try {
        return await ask(holder);
      } catch (error) {
        if (!(error instanceof TrawlError) || error.code !== "overloaded") throw error;
        failure ??= error;
      }
    }
    throw failure;
  }

  async #findAt(
    holder: RepositoryHolder,
    repository: string | number,
    limits: MirrorLimits,
  ): Promise<Repository | undefined> {
    const { idsFrom } = holder;
    const wanted = typeof repository === "string" ? repository : repository - idsFrom;
    const record = await this.#ask(holder, { kind: "find", repository: wanted }, limits, (answer) => {
      const found = checkRecord(answer, "find");
      const isAsked = found === undefined || found.name === wanted || found.id === wanted;
      if (!isAsked) throw new TrawlError("bad-request", "another repository than that which it was asked for");
      return found;
    });
    return record && { ...record, id: record.id + idsFrom };
  }

  /** An answer that is one value, as `check` returns it. */
  #ask<T>(
    holder: RepositoryHolder,
    question: MirrorQuestion,
    limits: MirrorLimits,
    check: (answer: unknown) => T,
  ): Promise<T>;
  /** With `onPiece`, that is called with the bytes of each message instead, and returns why it wants no more. */
  #ask(
    holder: RepositoryHolder,
    question: MirrorQuestion,
    limits: MirrorLimits,
    check: undefined,
    onPiece: (piece: Uint8Array) => TrawlError | undefined,
  ): Promise<unknown>;
  #ask(
    holder: RepositoryHolder,
    question: MirrorQuestion,
    limits: MirrorLimits,
    check: ((answer: unknown) => unknown) | undefined,
    onPiece?: (piece: Uint8Array) => TrawlError | undefined,
  ): Promise<unknown> {
    const body = writeMirrorAsked({ ...asker(limits), question });
    const measure = new QuestionMeasure(question.kind, this.#metrics);
    return new Promise((resolve, reject) => {
      const pieces: Uint8Array[] = [];
      let byteCount = 0;
      let forget = (): void => undefined;
      const settle = (outcome: QuestionOutcome): void => {
        measure.end(outcome);
        wait.cancel();
        forget();
        channel.close();
      };
      const fail = (error: unknown, outcome: QuestionOutcome): void => {
        settle(outcome);
        reject(error);
      };
      const end = (): void => {
        const bytes = Buffer.concat(pieces);
        try {
          const answer = check && this.#check(holder, () => check(readAnswer(bytes)));
          settle("answered");
          resolve(answer);
        } catch (error) {
          fail(error, "invalid");
        }
      };
      const receiver: FrameReceiver = {
        frame: ({ head, body: piece }) => {
          const message = toAnsweringHead(head);
          switch (message.kind) {
            case "bytes":
              byteCount += piece.length;
              measure.count(piece.length);
              if (byteCount > answerBytesMax)
                throw new TrawlError("bad-request", `it has sent more than ${answerBytesMax} bytes`);
              if (onPiece === undefined) pieces.push(piece);
              else {
                const refusal = onPiece(piece);
                if (refusal !== undefined) fail(refusal, "left");
              }
              return;
            case "end":
              return end();
            case "failed":
              return fail(this.#failure(holder, message.error), "refused");
            default:
              unreachable(message);
          }
        },
        closed: (reason) => {
          const what = ofSeveral.has(question.kind) ? "some of the repositories" : "the repository";
          fail(this.#lost(holder, reason, what), "lost");
        },
      };
      const channel = holder.open(receiver);
      const wait = callAfter(limits.timeoutMs + graceMs, () =>
        fail(new TrawlError("cancelled", `node ${holder.name} did not answer within ${limits.timeoutMs} ms`), "late"),
      );
      // It may be cancelled already, which is told at once.
      forget = limits.onCancel(() => fail(new TrawlError("cancelled", "the request was stopped"), "left"));
      send(channel, body);
    });
  }

  /** What another node has failed with. Its own faults are in its own log. */
  #failure({ name }: RepositoryHolder, error: SerializedError): TrawlError {
    const said = deserializeError(error);
    if (said.code === "shutting-down")
      return new TrawlError("overloaded", `node ${name} of this fleet is stopping: try again in a moment`);
    return said.level === "error" ? new TrawlError("git", `node ${name} has failed: its log says why`) : said;
  }

  /** The reason may have addresses, which clients are not told. */
  #lost({ name }: RepositoryHolder, reason: string | undefined, what = "the repository"): TrawlError {
    this.#log.info(
      { node: name, error: reason ?? "it ended before it had answered" },
      "a node that has a repository does not answer",
    );
    return new TrawlError(
      "overloaded",
      `node ${name} of this fleet, which has ${what}, does not answer: try again in a moment`,
    );
  }

  #check<T>({ name }: RepositoryHolder, read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.#log.warn({ node: name, error: errorMessage(error) }, "a node has answered what cannot be");
      throw new TrawlError(
        "git",
        `node ${name} of this fleet has answered what cannot be: the log of this node says what`,
      );
    }
  }
}

/** Those of the owners who have some of the partitions, and only these. */
function among(owners: readonly OwnerElsewhere[], numbers: ReadonlySet<number>): readonly OwnerElsewhere[] {
  return owners.flatMap(({ holder, partitions }) => {
    const some = partitions?.numbers.filter((number) => numbers.has(number)) ?? [];
    return partitions === undefined || some.length === 0
      ? []
      : [{ holder, partitions: { ...partitions, numbers: some } }];
  });
}

function sayUnowned(numbers: ReadonlySet<number>): string {
  const parts = numbers.size === 1 ? "1 part" : `${numbers.size} parts`;
  return `no node fetches ${parts} of the index at this moment, as far as this one knows`;
}

/** Whether a list without what this is about is better than none. */
function isLack({ code }: TrawlError): boolean {
  return code === "overloaded" || code === "content-too-large" || code === "git";
}

const tooMany = new TrawlError(
  "content-too-large",
  `the other nodes have more than ${listedMax} repositories for this list: give names, or search with type:repo`,
);

function asker({ viewer, client, timeoutMs }: MirrorLimits) {
  return { viewer, client, timeoutMs: Math.ceil(timeoutMs) };
}

function send(channel: ReturnType<RepositoryHolder["open"]>, body: Uint8Array): void {
  const head = { kind: mirrorKind };
  askingHead(head, "mirror");
  channel.send(head, body);
}

/** How a question ended. */
type QuestionOutcome = "answered" | "refused" | "lost" | "invalid" | "late" | "left";

type QuestionMetrics = Pick<Metrics, "fleetQuestions" | "fleetQuestionSeconds" | "fleetQuestionBytes">;

/** Counts one question, once. */
class QuestionMeasure {
  readonly #kind: MirrorQuestion["kind"];
  readonly #metrics: QuestionMetrics;
  readonly #startMs = monotonicMs();
  #isOver = false;

  constructor(kind: MirrorQuestion["kind"], metrics: QuestionMetrics) {
    this.#kind = kind;
    this.#metrics = metrics;
  }

  count(byteCount: number): void {
    this.#metrics.fleetQuestionBytes.inc({ kind: this.#kind }, byteCount);
  }

  end(outcome: QuestionOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#metrics.fleetQuestions.inc({ kind: this.#kind, outcome });
    this.#metrics.fleetQuestionSeconds.observe({ kind: this.#kind }, (monotonicMs() - this.#startMs) / 1000);
  }
}

/** What a failure of another node becomes here, and where it is counted. */
interface Faults {
  readonly measure: QuestionMeasure;
  lost(reason: string | undefined): TrawlError;
  failed(error: SerializedError): TrawlError;
}

/** What another node reads of its mirror, at the pace of whoever takes it. */
class RemoteOutput implements GitOutput, FrameReceiver {
  readonly stdout: Readable;
  readonly from: number;
  readonly ended: Promise<void>;
  readonly #channel: ReturnType<RepositoryHolder["open"]>;
  readonly #faults: Faults;
  #isOver = false;
  #resolve: () => void = () => undefined;
  #reject: (error: TrawlError) => void = () => undefined;

  constructor(holder: RepositoryHolder, from: number, body: Uint8Array, faults: Faults) {
    this.from = from;
    this.#faults = faults;
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.ended.catch(() => undefined);
    this.stdout = new Readable({ highWaterMark: outputBytesMax, read: () => this.#channel.resume() });
    // Only when all of it was taken.
    this.stdout.once("end", () => {
      this.#faults.measure.end("answered");
      this.#resolve();
    });
    this.#channel = holder.open(this);
    send(this.#channel, body);
  }

  frame({ head, body }: Frame): void {
    const message = toAnsweringHead(head);
    switch (message.kind) {
      case "bytes":
        this.#faults.measure.count(body.length);
        // It may be empty, which `push` would take for nothing.
        if (body.length > 0 && !this.stdout.push(body)) this.#channel.pause();
        return;
      case "end":
        this.#isOver = true;
        this.#channel.close();
        this.stdout.push(null);
        return;
      case "failed":
        return this.#fail(this.#faults.failed(message.error), "refused");
      default:
        unreachable(message);
    }
  }

  closed(reason: string | undefined): void {
    this.#fail(this.#faults.lost(reason), "lost");
  }

  #fail(error: TrawlError, outcome: QuestionOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#faults.measure.end(outcome);
    this.#channel.close();
    this.#reject(error);
    this.stdout.push(null);
  }

  watchSilence(): void {
    // The other node watches git.
  }

  kill(): void {
    // Also of one that has come and that nobody takes any more.
    this.#faults.measure.end("left");
    this.#fail(new TrawlError("cancelled", "the output was closed"), "left");
  }
}
