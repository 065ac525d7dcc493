/** The profiles of several threads in one file. */
import type { Profiler } from "node:inspector";
import t from "tap";
import { mergedProfile } from "../../../src/daemon/parts/merged-profile.js";

type Node = Profiler.ProfileNode;

function nodeNamed(id: number, functionName: string, children?: number[]): Node {
  const callFrame = { functionName, scriptId: "0", url: "", lineNumber: -1, columnNumber: -1 };
  return { id, callFrame, hitCount: 0, ...(children === undefined ? {} : { children }) };
}

t.test("each thread is a function below the root", (t) => {
  const one = {
    nodes: [nodeNamed(1, "(root)", [2, 3]), nodeNamed(2, "scan"), nodeNamed(3, "(idle)")],
    startTime: 100,
    endTime: 130,
    samples: [2, 3, 2],
    timeDeltas: [5, 10, 10],
  };
  const other = {
    nodes: [nodeNamed(1, "(root)", [2]), nodeNamed(2, "read")],
    startTime: 101,
    endTime: 131,
    samples: [2],
    timeDeltas: [20],
  };
  const silent = { nodes: [nodeNamed(1, "(root)")], startTime: 0, endTime: 0 };
  const threads = [
    { name: "main thread", profile: one },
    { name: "search thread 3", profile: silent },
    { name: "read thread 4", profile: other },
  ];
  const merged = JSON.parse([...mergedProfile(threads)].join("")) as Required<Profiler.Profile>;
  const names = new Map(merged.nodes.map(({ id, callFrame }) => [id, callFrame.functionName]));
  const parents = new Map(
    merged.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const path = (id: number): string => {
    const parent = parents.get(id);
    return `${parent === undefined ? "" : `${path(parent)} > `}${names.get(id)}`;
  };
  t.equal(names.size, merged.nodes.length, "ids are unique");
  t.same(merged.samples.map(path), [
    "(root) > (main thread) > scan",
    "(root) > (main thread) > (idle)",
    "(root) > (main thread) > scan",
    "(root) > (read thread 4) > read",
  ]);
  t.same(merged.timeDeltas, [5, 10, 10, 20]);
  t.same([merged.startTime, merged.endTime], [100, 145]);
  t.end();
});

t.test("no thread has answered", (t) => {
  const merged = JSON.parse([...mergedProfile([])].join("")) as Profiler.Profile;
  t.match(merged, { nodes: [{ id: 1 }], samples: [], timeDeltas: [] });
  t.end();
});
