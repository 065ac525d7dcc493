import t from "tap";
import type { Quarantine } from "../../../src/model/quarantine.js";
import type { Repository } from "../../../src/model/repository.js";
import { LossJudge } from "../../../src/sync/runner/loss.js";
import { IngestLoss } from "../../../src/pool/ingest-pool.js";
import type { Doing } from "../../../src/protocol/task-activity.js";
import { ThreadLoss, type LossReason } from "../../../src/pool/worker-pool.js";

const atFile: Doing = { repositoryId: 7, phase: "indexing", state: "s1", oid: "b1", path: "a.inc", shardIds: [] };
const atNoFile: Doing = { ...atFile, phase: "comparing", oid: "", path: "" };
const fetching: Doing = { ...atNoFile, phase: "fetching", state: "" };

function loss(reason: LossReason, doing: Doing): IngestLoss {
  return new IngestLoss(new ThreadLoss(reason, undefined), doing);
}

/** Only the properties that the decision uses. */
function repository(quarantine?: Quarantine): Repository {
  return { id: 7, quarantine } as Repository;
}

t.test("which repository is blamed for a lost thread", async (t) => {
  const judge = new LossJudge("1");
  t.same(judge.suspects([5, 7, 9], loss("stalled", atFile)), [7]);
  t.same(judge.suspects([5, 7, 9], loss("stalled", fetching)), [5, 7, 9], "fetches run side by side");
  t.same(judge.suspects([5, 9], loss("died", atFile)), [5, 9]);
});

t.test("the consequences", async (t) => {
  const file = { oid: "b1", path: "a.inc" };
  const rows: readonly (readonly [name: string, losses: readonly IngestLoss[], last: unknown])[] = [
    [
      "a file that hangs",
      [loss("stalled", atFile)],
      { kind: "quarantine", quarantine: { program: "1", files: [file], state: "" } },
    ],
    ["one that ends the thread, once", [loss("memory", atFile)], { kind: "again" }],
    ["twice", [loss("memory", atFile), loss("memory", atFile)], { kind: "quarantine", quarantine: { files: [file] } }],
    ["at two files, once each", [loss("died", atFile), loss("died", { ...atFile, oid: "b2" })], { kind: "again" }],
    ["at no file", [loss("stalled", atNoFile)], { kind: "quarantine", quarantine: { files: [], state: "s1" } }],
    ["before its branches are known", [loss("stalled", fetching)], { kind: "failed" }],
  ];
  for (const [name, losses, last] of rows) {
    const judge = new LossJudge("1");
    t.match(losses.map((one) => judge.judge(repository(), one)).at(-1), last, name);
  }
});

t.test("a quarantine grows to a limit, and applies only to the same version of the program", async (t) => {
  const judge = new LossJudge("1");
  const files = Array.from({ length: 99 }, (_, i) => ({ oid: `o${i}`, path: `${i}`, reason: "" }));
  const almostFull = { program: "1", files, state: "", stateReason: "" };
  const verdictOn = (quarantine: Quarantine): unknown => judge.judge(repository(quarantine), loss("stalled", atFile));
  const full = { ...almostFull, files: [...files, { oid: "x", path: "x", reason: "" }] };
  t.match(verdictOn(almostFull), { quarantine: { state: "", files: { length: 100 } } });
  t.match(verdictOn(full), { quarantine: { state: "s1", files: { length: 100 } } }, "the repository as a whole");
  t.match(verdictOn({ ...almostFull, program: "0" }), { quarantine: { program: "1", files: { length: 1 } } });
  t.equal(judge.current(repository({ ...full, program: "0" })), undefined);
  t.match(
    judge.afterSync(repository({ ...full, state: "s0" })),
    { files: { length: 100 }, state: "" },
    "other commits have been indexed",
  );
  t.equal(judge.afterSync(repository({ ...almostFull, files: [], state: "s0" })), undefined);
});
