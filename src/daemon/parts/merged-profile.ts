import type { Profiler } from "node:inspector";

export interface ThreadProfile {
  /** Shown as the function from which all others of the thread are called. */
  readonly name: string;
  readonly profile: Profiler.Profile;
}

/**
 * The JSON of one profile that contains those of several threads, in parts. The format knows only one thread: here each has
 * a function below the root, and its samples follow those of the thread before it, so that sums and flame graphs are
 * right, and the line of time shows one thread after another.
 */
export function* mergedProfile(threads: readonly ThreadProfile[]): Generator<string, void> {
  const startTime = threads[0]?.profile.startTime ?? 0;
  const offsets: number[] = [];
  let idMax = 1;
  for (const { profile } of threads) {
    offsets.push(idMax);
    idMax += profile.nodes.reduce((max, { id }) => Math.max(max, id), 0);
  }
  const tops = threads.map(({ profile }, at) => (profile.nodes[0]?.id ?? 0) + (offsets[at] ?? 0));
  const root = { id: 1, callFrame: frameNamed("(root)"), hitCount: 0, children: tops };
  yield `{"nodes":[${JSON.stringify(root)}`;
  for (const [at, { name, profile }] of threads.entries()) {
    const offset = offsets[at] ?? 0;
    const nodes = profile.nodes.map((node, index) => ({
      ...node,
      id: node.id + offset,
      callFrame: index === 0 ? frameNamed(`(${name})`) : node.callFrame,
      ...(node.children === undefined ? {} : { children: node.children.map((child) => child + offset) }),
    }));
    yield nodes.map((node) => `,${JSON.stringify(node)}`).join("");
  }
  let totalTime = 0;
  for (const { profile } of threads) for (const delta of profile.timeDeltas ?? []) totalTime += delta;
  yield `],"startTime":${startTime},"endTime":${startTime + totalTime}`;
  yield ',"samples":[';
  yield* joined(threads, ({ profile }, at) => profile.samples?.map((id) => id + (offsets[at] ?? 0)));
  yield '],"timeDeltas":[';
  yield* joined(threads, ({ profile }) => profile.timeDeltas);
  yield "]}";
}

function* joined(
  threads: readonly ThreadProfile[],
  numbersOf: (thread: ThreadProfile, at: number) => readonly number[] | undefined,
): Generator<string, void> {
  let isFirst = true;
  for (const [at, thread] of threads.entries()) {
    const numbers = numbersOf(thread, at) ?? [];
    if (numbers.length === 0) continue;
    yield `${isFirst ? "" : ","}${numbers.join(",")}`;
    isFirst = false;
  }
}

function frameNamed(functionName: string): Profiler.ProfileNode["callFrame"] {
  return { functionName, scriptId: "0", url: "", lineNumber: -1, columnNumber: -1 };
}
