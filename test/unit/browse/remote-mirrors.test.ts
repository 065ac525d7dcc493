/** Mirrors of another node: reads have the same answers, viewers see what they may, and a node that is lost or lies is no answer. */
import { mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serialize } from "node:v8";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { stopWhenSet } from "../../../src/base/stop-signal.js";
import { MirrorAnswers, type OwnerCommands } from "../../../src/browse/mirror-answers.js";
import {
  checkAnswer,
  type MirrorLimits,
  type MirrorRead,
  type MirrorReadKind,
  readMirrorAsked,
  writeMirrorAsked,
} from "../../../src/browse/mirror-messages.js";
import { Mirrors } from "../../../src/browse/mirrors.js";
import { Partitions, type PartitionShare } from "../../../src/catalog/partitions.js";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import { maySee } from "../../../src/catalog/visible-tables.js";
import { parseBlameOutput } from "../../../src/git/history/blame-stream.js";
import type { GitOutput } from "../../../src/git/run/run.js";
import { mirrorName, mirrorsFolder } from "../../../src/model/repository.js";
import { anonymous, operatorViewer, type Viewer } from "../../../src/model/viewer.js";
import type { ReadPool } from "../../../src/pool/read-pool.js";
import { unfilteredHistory } from "../../../src/protocol/git-messages.js";
import { type Channel, LocalChannel } from "../../../src/search/fleet/local-channel.js";
import type { RepositoryHolder, SearchFleet } from "../../../src/search/source/search-fleet.js";
import type { FrameReceiver } from "../../../src/wire/frame-channel.js";
import { answerGitRead } from "../../../src/worker/read/answer-git-read.js";
import type { ReadContext } from "../../../src/worker/read/context.js";
import { answerResolveRevisions } from "../../../src/worker/read/resolve-revisions.js";
import { testRepository } from "../../support/engine.js";
import { fixture } from "../../support/git-mirror.js";
import { until } from "../../support/waiting.js";
import { removeFolder } from "../../support/remove-folder.js";

const source = fixture(t);
const first = source.commit({ branch: "main", files: { "a.js": "function one() {}\n", "dir/b.txt": "b\n" } });
const oid = source.commit({
  branch: "main",
  files: {
    "a.js": "function one() {}\nfunction two() { one(); }\n",
    CODEOWNERS: "* @ann\n",
    "large.bin": "\0".repeat(3 << 20),
  },
});
source.tag("v1", first);
const blob = source.git("rev-parse", "main:a.js").trim();
const large = source.git("rev-parse", "main:large.bin").trim();

const dataFolder = mkdtempSync(join(tmpdir(), "trawl-"));
t.teardown(() => removeFolder(dataFolder));
mkdirSync(join(dataFolder, mirrorsFolder));
symlinkSync(source.path, join(dataFolder, mirrorsFolder, mirrorName(1)));

const indexedBranches = [{ name: "main", bit: 0, commit: oid }];
const records = [
  testRepository(1, "host/one", { indexedBranches, private: true, readers: ["ann"], credential: "file:/secret" }),
  testRepository(2, "host/new", { indexedBranches }),
];
const ann: Viewer = { ...anonymous, userId: 1, name: "ann", readerNames: ["ann"] };

/** Called before a read; it resolves when that may begin. */
let beforeRead: (stop: Int32Array) => Promise<void> = () => Promise.resolve();

/** As of a pool of threads, which the tests of the daemon have. */
const reads = {
  run: async (request: MirrorRead, { stop }: Pick<MirrorLimits, "stop">): Promise<unknown> => {
    await beforeRead(stop);
    const context = { dataFolder, stop: stopWhenSet(stop) } as unknown as ReadContext;
    return request.kind === "resolve-revisions"
      ? answerResolveRevisions(request, context)
      : answerGitRead(request, context);
  },
} as unknown as ReadPool;

const partitions = new Partitions(2);

const catalog = {
  partitions,
  *shareInSteps(viewer: Viewer, share: PartitionShare) {
    yield;
    const inside = catalog.repositoryTable(viewer).values();
    return RepositoryTable.of(
      inside.filter(({ id }) => share.has(id)),
      false,
      undefined,
    );
  },
  repositoryTable: (viewer: Viewer) =>
    RepositoryTable.of(
      records.filter((record) => maySee(record, viewer)),
      false,
      undefined,
    ),
  positionIn: (partition: number) => ({ version: 40 + partition, flipId: "" }),
};

const registry = createMetrics();

function makeMirrors(fleet: Partial<SearchFleet>): Mirrors {
  const folder = join(dataFolder, mirrorsFolder);
  const record = (id: number) => records.find((one) => one.id === id);
  const settings = { name: "b", folder, reads, record, isShared: true, log: silentLog(), metrics: registry.metrics };
  return new Mirrors({ ...settings, fleet: () => fleet as SearchFleet });
}

/** Partitions that the asked node does not own any more. */
let notOwned: readonly number[] = [];

/** The node that fetches, as the asked one says; undefined for that one. */
let nextOwner: RepositoryHolder | undefined;

const there: Partial<SearchFleet> = {
  findReader: () => undefined,
  findOwner: () => nextOwner,
  findNotOwned: () => notOwned,
  explainNoMirror: () => "it has not fetched it yet",
  requireKnowing: () => undefined,
  requirePartitions: () => undefined,
};
/** What the other node is told to do. */
const commands: { -readonly [Name in keyof OwnerCommands]: OwnerCommands[Name] } = {
  waitForCommit: () => Promise.resolve(),
  requestFetches: () => [],
  orderRepository: () => Promise.resolve(),
};

const answers = new MirrorAnswers({
  name: "b",
  mirrors: makeMirrors(there),
  catalog,
  commands,
  fleet: () => there as SearchFleet,
  log: silentLog(),
});

/** What the other node has got, and how it is lost. */
const channels: LocalChannel[] = [];

function holderWith(answer: (channel: Channel) => FrameReceiver): RepositoryHolder {
  return {
    name: "b",
    idsFrom: 100,
    open: (receiver) => {
      const [here, other] = LocalChannel.pair();
      here.receive(receiver);
      other.receive(answer(other));
      channels.push(other);
      return here;
    },
  };
}

const honest = holderWith((channel) => answers.accept("a", () => channel));
const asking = (holder: RepositoryHolder): Mirrors => makeMirrors({ findReader: () => holder });
const mirrors = asking(honest);

function limits(viewer: Viewer = ann, more: Partial<MirrorLimits> = {}): MirrorLimits {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  return { viewer, client: "ann", timeoutMs: 60_000, stop, onCancel: () => () => undefined, ...more };
}

async function bytesIn(output: GitOutput): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of output.stdout) parts.push(part as Buffer);
  await output.ended;
  output.kill();
  return Buffer.concat(parts);
}

const repositoryId = 101;
const file = { commit: oid, oid: blob, path: "a.js", startLine: undefined, endLine: undefined };
const history = { ...unfilteredHistory, from: [oid] as [string], countMax: 10 };
const contributors = { from: [oid], without: [], path: "", after: "", skipCount: 0, countMax: 10 };
const place = { commit: oid, oid: blob, path: "a.js" };
const requests: {
  readonly [Kind in MirrorReadKind]: Omit<Extract<MirrorRead, { kind: Kind }>, "kind" | "repositoryId">;
} = {
  "read-commits": { oids: [oid, first, "0".repeat(40)] },
  "has-commit": { oid },
  "list-history": { history },
  "list-history-oids": { history },
  "find-first-commit": { commit: oid },
  "list-contributors": contributors,
  "compare-commits": { base: first, head: oid },
  "list-refs": { prefixes: ["refs/"], nameText: "", order: "newest", skipCount: 0, countMax: 10 },
  "read-entries": { lfsTree: undefined, commit: oid, paths: ["", "a.js", "dir", "nothing"] },
  "list-directory": { lfsTree: undefined, commit: oid, path: "", recursive: true, entryKinds: [], countMax: 10 },
  "read-last-commits": { path: "", from: oid, timeMs: 1_000 },
  "print-directory": { commit: oid, path: "", recursive: true, byteCountMax: 1_000 },
  "list-file-names": { commit: oid, countMax: 10 },
  "read-files": {
    files: [
      { ...file, form: { kind: "text" } },
      { ...file, form: { kind: "html", longLines: true, patient: false }, startLine: 1, endLine: 1 },
      { ...file, oid: "1".repeat(40), form: { kind: "attributes" } },
    ],
  },
  "list-symbols": { ...place, query: "", kinds: [], skipCount: 0, countMax: 10 },
  "list-occurrences": { ...place, line: 0, character: 10, all: false },
  "read-diff": {
    base: first,
    head: oid,
    paths: ["a.js"],
    ignoreWhitespace: false,
    skipCount: 0,
    countMax: 10,
    withPatch: true,
  },
  "read-blame": { blame: { commit: oid, path: "a.js", startLine: 1, endLine: 2, ignoreWhitespace: false } },
  "count-languages": { lfsTree: undefined, commit: oid, withLines: true },
  "find-content-commit": { commit: oid },
  "find-owners": { commit: oid, path: "a.js", otherwise: "" },
  "read-submodules": { commit: oid },
  "resolve-revisions": {
    repositories: [
      {
        repositoryId,
        specs: ["main", "v1", "HEAD", "nothing", oid.slice(0, 8)].map((typed) => ({ kind: "name" as const, typed })),
      },
    ],
  },
};

const kinds = Object.keys(requests) as MirrorReadKind[];

function makeRequest(kind: MirrorReadKind, id = repositoryId): MirrorRead {
  return { kind, repositoryId: id, ...requests[kind] } as unknown as MirrorRead;
}

function run(all: Mirrors, request: MirrorRead, given: MirrorLimits): Promise<unknown> {
  return all.run(request as Extract<MirrorRead, { kind: "has-commit" }>, given);
}

t.test("each kind of read has the answer that it has at the other node", async (t) => {
  for (const kind of kinds) {
    const direct = (await reads.run(makeRequest(kind, 1) as never, limits()).catch(String)) as object;
    const expected =
      kind === "resolve-revisions" ? await run(makeMirrors(there), here(makeRequest(kind)), limits()) : direct;
    t.same(await run(mirrors, makeRequest(kind), limits()), expected, kind);
  }
});

/** The same request about the repository as the other node knows it. */
function here(request: MirrorRead): MirrorRead {
  return request.kind === "resolve-revisions"
    ? { ...request, repositories: [{ ...request.repositories[0], repositoryId: 1 }] }
    : request;
}

t.test("outputs are the same bytes, also a part of a file", async (t) => {
  const whole = { kind: "blob", oid: large, from: 0, to: 3 << 20 } as const;
  t.equal((await bytesIn(await mirrors.open(repositoryId, whole, limits()))).length, 3 << 20);
  const part = await mirrors.open(repositoryId, { kind: "blob", oid: blob, from: 9, to: 12 }, limits());
  t.equal(part.from, 9);
  t.equal((await bytesIn(part)).toString(), "one");
  const archive = { kind: "archive", commit: oid, format: "tar", path: "dir" } as const;
  const expected = source.git("archive", "--format=tar", oid, "dir");
  t.equal((await bytesIn(await mirrors.open(repositoryId, archive, limits()))).toString("latin1"), expected);
  const blame = { kind: "blame", commit: oid, path: "a.js", ignored: [], timeoutMs: 60_000 } as const;
  const hunks: unknown[] = [];
  for await (const found of parseBlameOutput(await mirrors.open(repositoryId, blame, limits()))) hunks.push(...found);
  t.equal(hunks.length, 2);
  const missing = await mirrors.open(repositoryId, { ...blame, path: "nothing" }, limits());
  await t.rejects(bytesIn(missing), { code: "git", message: /no such path/ });
});

t.test("whoever does not take an output holds up git, and nothing else", async (t) => {
  const output = await mirrors.open(repositoryId, { kind: "blob", oid: large, from: 0, to: 3 << 20 }, limits());
  await new Promise((resolve) => output.stdout.once("readable", resolve));
  t.equal(((await run(mirrors, makeRequest("has-commit"), limits())) as { isStored: boolean }).isStored, true);
  // As long as all of it would take to arrive.
  for (let i = 0; i < 50; i++) await run(mirrors, makeRequest("has-commit"), limits());
  t.ok(output.stdout.readableLength < 1 << 20, `${output.stdout.readableLength} bytes are here`);
  output.kill();
  await t.rejects(output.ended, { code: "cancelled" });
});

t.test("the other node decides what a viewer sees", async (t) => {
  const refusal = { code: "not-found", message: /no such repository any more, or you may not see it/ };
  for (const kind of kinds) await t.rejects(run(mirrors, makeRequest(kind), limits(anonymous)), refusal, kind);
  const output = await mirrors.open(repositoryId, { kind: "blob", oid: blob, from: 0, to: 9 }, limits(anonymous));
  await t.rejects(bytesIn(output), refusal);
  t.equal(await mirrors.find([[honest]], "host/one", limits(anonymous)), undefined);
  t.equal(await mirrors.find([[honest]], repositoryId, limits(anonymous)), undefined);
  const found = await mirrors.find([[honest]], "host/one", limits(ann));
  t.match(
    found,
    { id: 101, name: "host/one", private: true, indexedBranches, credential: "" },
    "and no place of a secret",
  );
  t.match(await mirrors.find([[honest]], 101, limits(operatorViewer)), { name: "host/one" });
});

t.test("a node without the mirror never says that something does not exist", async (t) => {
  const missing = {
    code: "overloaded",
    message: /node b has no mirror of host\/new, because it has not fetched it yet/,
  };
  for (const kind of ["read-commits", "list-refs", "resolve-revisions"] as const) {
    const request = here({ ...makeRequest(kind), repositoryId: 102 } as MirrorRead);
    const about =
      kind === "resolve-revisions" ? { ...request, repositories: [{ repositoryId: 102, specs: [] }] } : request;
    await t.rejects(run(mirrors, about as MirrorRead, limits()), missing, kind);
  }
  const nobody = makeMirrors({ ...there, explainNoMirror: () => "node c is gone" });
  const gone = { code: "overloaded", message: /node b has no mirror of the repository, because node c is gone/ };
  await t.rejects(
    run(nobody, { kind: "has-commit", repositoryId: 7, oid }, limits()),
    gone,
    "it is not in the catalog",
  );
  const output = await mirrors.open(102, { kind: "blob", oid: blob, from: 0, to: 9 }, limits());
  await t.rejects(bytesIn(output), missing);
});

const lost = holderWith((channel) => ({ frame: () => channel.close(), closed: () => undefined }));

t.test("a node that is lost is named, and another one is asked for what it knows", async (t) => {
  const gone = { code: "overloaded", message: /^node b of this fleet, which has the repository, does not answer/ };
  await t.rejects(run(asking(lost), makeRequest("has-commit"), limits()), gone);
  const output = await asking(lost).open(repositoryId, { kind: "blob", oid: blob, from: 0, to: 9 }, limits());
  await t.rejects(bytesIn(output), gone);
  t.match(await mirrors.find([[lost, honest]], "host/one", limits()), { id: 101 });
  await t.rejects(mirrors.find([[honest], [lost]], "host/none", limits()), gone, "it may be there");
  t.match(await mirrors.find([[lost], [honest]], "host/one", limits()), { id: 101 });
});

t.test("lists have what the viewer sees, of the partitions that are asked for", async (t) => {
  const list = async (numbers: readonly number[] | undefined, viewer: Viewer, names?: readonly string[]) => {
    const asked = numbers === undefined ? undefined : { numbers, count: 2 };
    const { records: found, lacks } = await mirrors.list(
      [{ holders: [lost, honest], partitions: asked }],
      names,
      limits(viewer),
    );
    t.same(lacks, []);
    return found
      .map(({ id, name }) => `${id} ${name}`)
      .sort()
      .join();
  };
  t.equal(await list(undefined, ann), "101 host/one,102 host/new");
  t.equal(await list(undefined, anonymous), "102 host/new");
  t.equal(await list([0], ann), "101 host/one");
  t.equal(await list([0, 1], ann, ["host/new", "host/none"]), "102 host/new");
  t.equal(await list([0], ann, ["host/new"]), "");
  const lists = [[honest], [lost]].map((holders) => ({ holders, partitions: undefined }));
  t.match(await mirrors.list(lists, undefined, limits(anonymous)), {
    records: [{ id: 102 }],
    lacks: [/^node b of this fleet, which has some of the repositories, does not answer/],
  });
  const many = holderWith((channel) => ({
    frame: () => {
      for (let i = 0; i < 101; i++)
        channel.send({ kind: "bytes" }, serialize(Array.from({ length: 200 }, () => records[1])));
    },
    closed: () => undefined,
  }));
  const listed = await mirrors.list([{ holders: [many], partitions: undefined }], undefined, limits());
  t.match(listed, { records: [], lacks: [/more than 20000 repositories/] });
});

t.test("whoever stops to wait ends what is done there", async (t) => {
  // Nothing else keeps this process.
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  let cancel = (): void => undefined;
  const onCancel = (callback: () => void) => {
    cancel = callback;
    return () => undefined;
  };
  let isEnded = false;
  const silent = holderWith(() => ({ frame: () => cancel(), closed: () => (isEnded = true) }));
  await t.rejects(run(asking(silent), makeRequest("has-commit"), limits(ann, { onCancel })), { code: "cancelled" });
  await new Promise((resolve) => setImmediate(resolve));
  t.ok(isEnded);
  const atOnce = limits(ann, {
    onCancel: (callback) => {
      callback();
      return () => undefined;
    },
  });
  await t.rejects(run(asking(silent), makeRequest("has-commit"), atOnce), { code: "cancelled" });
  await t.rejects(
    bytesIn(await asking(honest).open(repositoryId, { kind: "blob", oid: large, from: 0, to: 9 }, atOnce)),
    {
      code: "cancelled",
    },
  );
  let isStopped = false;
  beforeRead = async (stop) => {
    cancel();
    while (Atomics.load(stop, 0) === 0) await new Promise((resolve) => setImmediate(resolve));
    isStopped = true;
  };
  await t.rejects(run(mirrors, makeRequest("has-commit"), limits(ann, { onCancel })), { code: "cancelled" });
  await until("the read there is stopped", () => isStopped);
  beforeRead = () => Promise.resolve();
  const late = { code: "cancelled", message: /node b did not answer within 1 ms/ };
  const mute = holderWith(() => ({ frame: () => undefined, closed: () => undefined }));
  await t.rejects(run(asking(mute), makeRequest("has-commit"), limits(ann, { timeoutMs: 1 })), late);
});

const awaited = { kind: "wait", commit: { repository: "host/one", oid } } as const;

t.test("another node waits for a commit, for the viewer, as long as it may", async (t) => {
  const asked: unknown[] = [];
  commands.waitForCommit = (commit, { viewer, client, timeoutMs }) => {
    asked.push({ commit, viewer, client, timeoutMs });
    return Promise.resolve();
  };
  const version = 40 + partitions.place("host/one");
  t.same(await mirrors.askOwner(honest, awaited, limits(ann, { timeoutMs: 1_234 })), { version });
  const { credential: _, ...viewer } = ann;
  t.match(asked, [{ commit: awaited.commit, viewer, client: "ann", timeoutMs: 1_234 }]);
  const refusals: readonly (readonly [TrawlError, { code: string; message: RegExp }])[] = [
    [new TrawlError("not-found", "not covered"), { code: "not-found", message: /^not covered$/ }],
    [new TrawlError("conflict", "node c"), { code: "conflict", message: /^node c$/ }],
    [new TrawlError("shutting-down", "x"), { code: "overloaded", message: /^node b of this fleet is stopping/ }],
    [new TrawlError("storage", "/var/lib/secret"), { code: "git", message: /^node b has failed: its log says why$/ }],
  ];
  for (const [error, expected] of refusals) {
    commands.waitForCommit = () => Promise.reject(error);
    await t.rejects(mirrors.askOwner(honest, awaited, limits()), expected);
  }
  nextOwner = { ...honest, name: "c" };
  const moved = { code: "overloaded", message: /node b does not fetch the repository any more, but node c/ };
  await t.rejects(mirrors.askOwner(honest, awaited, limits()), moved, "it passes nothing on");
  nextOwner = undefined;
  await t.rejects(mirrors.askOwner(lost, awaited, limits()), { code: "overloaded" });
});

t.test("a wait ends there when nobody waits here, and there are not too many", async (t) => {
  let isClosed = false;
  commands.waitForCommit = (_, { onClosed }) =>
    new Promise((_resolve, reject) => {
      onClosed(() => {
        isClosed = true;
        reject(new TrawlError("cancelled", "gone"));
      });
    });
  const cancels: (() => void)[] = [];
  const onCancel = (callback: () => void) => {
    cancels.push(callback);
    return () => undefined;
  };
  // Half of them are for other clients.
  const waits = Array.from({ length: 500 }, () => mirrors.askOwner(honest, awaited, limits(ann, { onCancel })));
  const ended = Promise.allSettled(waits);
  const full = { code: "overloaded", message: /Too many waits for commits and fetches/ };
  await t.rejects(mirrors.askOwner(honest, awaited, limits()), full);
  for (const cancel of cancels) cancel();
  t.ok((await ended).every(({ status }) => status === "rejected"));
  await until("the waits there have ended", () => isClosed);
  commands.waitForCommit = () => Promise.resolve();
  await until("others may wait", () =>
    mirrors.askOwner(honest, awaited, limits()).then(
      () => true,
      () => false,
    ),
  );
});

t.test("an order is carried out by the node that fetches, for the viewer", async (t) => {
  const order = { repository: "host/one", kind: "fetch", waits: true, acceptsLoss: true } as const;
  const asked: unknown[] = [];
  commands.orderRepository = (given, { viewer }) => {
    asked.push({ given, name: viewer.name, isSiteAdmin: viewer.isSiteAdmin });
    return Promise.resolve();
  };
  t.same(await mirrors.askOwner(honest, { kind: "order", order }, limits()), {
    version: 40 + partitions.place("host/one"),
  });
  t.same(asked, [{ given: order, name: "ann", isSiteAdmin: false }]);
  commands.orderRepository = () => Promise.reject(new TrawlError("forbidden", "must be site admin"));
  await t.rejects(mirrors.askOwner(honest, { kind: "order", order }, limits()), { code: "forbidden" });
  nextOwner = { ...honest, name: "c" };
  await t.rejects(mirrors.askOwner(honest, { kind: "order", order }, limits()), {
    code: "overloaded",
    message: /but node c/,
  });
  nextOwner = undefined;
  await t.rejects(mirrors.askOwner(lost, { kind: "order", order }, limits()), { code: "overloaded" });
});

t.test("owners are told what to fetch, each of them, and what they could not be told is said", async (t) => {
  let asked: unknown[] = [];
  commands.requestFetches = (addresses, isAsked) => {
    asked.push({ addresses, ids: [1, 2].filter(isAsked) });
    return ["host/one"];
  };
  type Owners = ReturnType<SearchFleet["findOwners"]>;
  const addresses = ["host/one", "https://host/one.git"];
  const request = (findOwners: () => Owners, viewer = operatorViewer, timeoutMs = 60_000) =>
    makeMirrors({ findOwners }).requestFetches(addresses, limits(viewer, { timeoutMs }));
  const owned = (holder: RepositoryHolder, ...numbers: readonly number[]) => ({
    holder,
    partitions: { numbers, count: 2 },
  });
  const all = { queued: ["host/one"], lacks: [], lacking: new Set() };
  t.same(await request(() => ({ owners: [owned(honest, 1)], missing: [] })), all);
  t.same(asked, [{ addresses, ids: [2] }], "for its partitions");
  t.same(await request(() => ({ owners: [{ holder: honest, partitions: undefined }], missing: [] })), all);
  t.same(await request(() => ({ owners: [], missing: [] })), { ...all, queued: [] });
  // The first one is lost, and another node owns its partition a moment later.
  let looks = 0;
  asked = [];
  const moving = (): Owners => ({ owners: [owned(looks++ === 0 ? lost : honest, 0), owned(honest, 1)], missing: [] });
  t.same(await request(moving), all);
  t.equal(asked.length, 2, "who was told is not told again");
  notOwned = [0];
  looks = 0;
  const owners = (): Owners => {
    if (looks++ > 0) notOwned = [];
    return { owners: [owned(honest, 0, 1)], missing: [] };
  };
  t.same(await request(owners), all, "a node that owns less by now says so, and is asked again");
  const away = await request(() => ({ owners: [owned(lost, 0)], missing: [1] }), operatorViewer, 1);
  t.match(away, { queued: [], lacks: [/no node fetches 1 part of the index/, /node b of this fleet, which has some/] });
  t.same(away?.lacking, new Set([0, 1]));
  const hidden = await request(() => ({ owners: [owned(honest, 0)], missing: [] }), ann, 1);
  t.match(hidden, { queued: [], lacks: [/for the operator only/] });
  for (const lie of [undefined, {}, { queued: [1], notOwned: [] }, { queued: [], notOwned: [-1] }, { queued: [] }]) {
    const lying = holderWith((channel) => ({
      frame: () => {
        channel.send({ kind: "bytes" }, serialize(lie));
        channel.send({ kind: "end" });
      },
      closed: () => undefined,
    }));
    const told = await request(() => ({ owners: [owned(lying, 0)], missing: [] }), operatorViewer, 1);
    t.match(told, { queued: [], lacks: [/has answered what cannot be/] }, JSON.stringify(lie));
  }
});

t.test("what a node may not answer is no answer", async (t) => {
  type Frames = readonly (readonly [head: object, body?: Uint8Array])[];
  const answeringHolder = (...frames: Frames): RepositoryHolder =>
    holderWith((channel) => ({
      frame: () => frames.forEach(([head, body]) => channel.send(head, body)),
      closed: () => undefined,
    }));
  const answering = (...frames: Frames): Mirrors => asking(answeringHolder(...frames));
  const bytes = (value: unknown): readonly [object, Uint8Array] => [{ kind: "bytes" }, serialize(value)];
  const lies: readonly unknown[] = [
    undefined,
    null,
    1,
    {},
    { commits: {} },
    { commits: [{ oid }] },
    { commits: [null] },
  ];
  for (const lie of lies)
    await t.rejects(run(answering(bytes(lie), [{ kind: "end" }]), makeRequest("read-commits"), limits()), {
      code: "git",
      message: /node b of this fleet has answered what cannot be/,
    });
  await t.rejects(
    run(answering([{ kind: "bytes" }, Buffer.from("x")], [{ kind: "end" }]), makeRequest("has-commit"), limits()),
    { code: "git" },
  );
  const endless = Array.from({ length: 5 }, () => [{ kind: "bytes" }, Buffer.alloc(15 << 20)] as const);
  await t.rejects(run(answering(...endless), makeRequest("has-commit"), limits()), { code: "overloaded" });
  await t.rejects(run(answering([{ kind: "nonsense" }]), makeRequest("has-commit"), limits()), { code: "overloaded" });
  const failed = { kind: "failed", error: { code: "storage", message: "/var/lib/secret" } };
  await t.rejects(run(answering([failed]), makeRequest("has-commit"), limits()), {
    code: "git",
    message: "node b has failed: its log says why",
  });
  for (const lie of [undefined, {}, { version: -1 }, { version: "1" }, { version: 1.5 }, []])
    await t.rejects(
      mirrors.askOwner(answeringHolder(bytes(lie), [{ kind: "end" }]), awaited, limits()),
      { code: "git", message: /node b of this fleet has answered what cannot be/ },
      JSON.stringify(lie),
    );
  const other = serialize({ ...records[1] });
  const holder = holderWith((channel) => ({
    frame: () => {
      channel.send({ kind: "bytes" }, other);
      channel.send({ kind: "end" });
    },
    closed: () => undefined,
  }));
  await t.rejects(mirrors.find([[holder]], "host/one", limits()), { code: "git" }, "another repository");
});

t.test("what a node may not ask is refused", (t) => {
  const asked = { viewer: ann, client: "ann", timeoutMs: 1 };
  const ask = (question: object): unknown => readMirrorAsked(serialize({ ...asked, question }));
  for (const kind of kinds) {
    const question = { kind: "read", repositoryId: 1, request: makeRequest(kind) } as const;
    t.strictSame(readMirrorAsked(writeMirrorAsked({ ...asked, question })).question.kind, "read", kind);
  }
  const refused: readonly object[] = [
    { kind: "nothing" },
    { kind: "find", repository: {} },
    { kind: "wait" },
    { kind: "order" },
    { kind: "order", order: { repository: "host/one", kind: "remove", waits: false, acceptsLoss: false } },
    { kind: "fetch", addresses: Array.from({ length: 300 }, () => "x") },
    { kind: "fetch", addresses: ["x".repeat(5_000)] },
    { kind: "wait", commit: { repository: "host/one", oid: "--upload-pack=x" } },
    { kind: "wait", commit: { repository: "x".repeat(5_000), oid } },
    { kind: "read", repositoryId: -1, request: makeRequest("has-commit") },
    { kind: "read", repositoryId: 1, request: { kind: "find-precise", repositoryId: 1, candidates: [] } },
    { kind: "read", repositoryId: 1, request: { ...makeRequest("has-commit"), oid: "--output=/etc/passwd" } },
    { kind: "read", repositoryId: 1, request: { ...makeRequest("read-diff"), head: "main" } },
    { kind: "read", repositoryId: 1, request: { kind: "resolve-revisions", repositories: [] } },
    { kind: "output", repositoryId: 1, wanted: { kind: "blob", oid: "HEAD", from: 0, to: 1 } },
    { kind: "output", repositoryId: 1, wanted: { kind: "archive", commit: oid, format: "rpm", path: "" } },
  ];
  for (const question of refused) t.throws(() => ask(question), { code: "bad-request" }, JSON.stringify(question));
  t.throws(() => readMirrorAsked(Buffer.from("x")));
  t.throws(() => checkAnswer("resolve-revisions", { repositories: [] }), TrawlError);
  t.throws(() => checkAnswer("read-commits", { commits: new Array(2) }), TrawlError, "a list with holes");
  t.end();
});

t.test("questions are counted, with their outcomes, times and bytes", async (t) => {
  // Nothing else keeps this process.
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  const lines = async (): Promise<ReadonlyMap<string, number>> =>
    new Map(
      (await registry.text())
        .split("\n")
        .filter((line) => line.startsWith("trawl_fleet_question"))
        .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
    );
  const before = await lines();
  const change = async (key: string): Promise<number> => ((await lines()).get(key) ?? 0) - (before.get(key) ?? 0);
  const questions = (kind: string, outcome: string): Promise<number> =>
    change(`trawl_fleet_questions_total{kind="${kind}",outcome="${outcome}"}`);
  await run(mirrors, makeRequest("has-commit"), limits());
  t.equal(await questions("read", "answered"), 1);
  t.ok((await change('trawl_fleet_question_bytes_total{kind="read"}')) > 10);
  t.equal(await change('trawl_fleet_question_seconds_count{kind="read"}'), 1);
  await t.rejects(run(mirrors, makeRequest("has-commit"), limits(anonymous)));
  t.equal(await questions("read", "refused"), 1);
  await t.rejects(run(asking(lost), makeRequest("has-commit"), limits()));
  t.equal(await questions("read", "lost"), 1);
  const mute = holderWith(() => ({ frame: () => undefined, closed: () => undefined }));
  await t.rejects(run(asking(mute), makeRequest("has-commit"), limits(ann, { timeoutMs: 1 })));
  t.equal(await questions("read", "late"), 1);
  const lying = holderWith((channel) => ({
    frame: () => {
      channel.send({ kind: "bytes" }, serialize({}));
      channel.send({ kind: "end" });
    },
    closed: () => undefined,
  }));
  await t.rejects(mirrors.askOwner(lying, awaited, limits()));
  t.equal(await questions("wait", "invalid"), 1);
  await bytesIn(await mirrors.open(repositoryId, { kind: "blob", oid: blob, from: 0, to: 9 }, limits()));
  t.equal(await questions("output", "answered"), 1);
  t.equal(await change('trawl_fleet_question_bytes_total{kind="output"}'), 9);
  const unread = await mirrors.open(repositoryId, { kind: "blob", oid: large, from: 0, to: 3 << 20 }, limits());
  unread.kill();
  await t.rejects(unread.ended);
  t.equal(await questions("output", "left"), 1);
});
