/**
 * Loaded into a daemon under test before its own modules: tells which of them have run a function since it was last asked,
 * in any thread. It uses V8's precise coverage, which counts calls.
 */
import { Session } from "node:inspector";
import { isMainThread } from "node:worker_threads";

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

type Answer = (coverage: Coverage) => void;

const module = /\/dist\/(src\/[^?]*)\.js$/;

/** The modules of a thread that have run, from the part below `src/`. */
function filesIn({ result }: Coverage): string[] {
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .flatMap(({ url }) => module.exec(url)?.[1] ?? []);
}

function start(session: Session): void {
  const threads = new Map<string, Map<number, Answer>>();
  let lastId = 0;
  const askThread = (sessionId: string, method: string, params: object, answer: Answer): void => {
    const id = ++lastId;
    threads.get(sessionId)?.set(id, answer);
    session.post("NodeWorker.sendMessageToWorker", { sessionId, message: JSON.stringify({ id, method, params }) });
  };
  session.on("NodeWorker.attachedToWorker", ({ params: { sessionId } }) => {
    threads.set(sessionId, new Map());
    askThread(sessionId, "Profiler.enable", {}, () => undefined);
    askThread(sessionId, "Profiler.startPreciseCoverage", { callCount: true, detailed: false }, () => undefined);
  });
  session.on("NodeWorker.detachedFromWorker", ({ params: { sessionId } }) => {
    for (const answer of threads.get(sessionId)?.values() ?? []) answer({ result: [] });
    threads.delete(sessionId);
  });
  session.on("NodeWorker.receivedMessageFromWorker", ({ params: { sessionId, message } }) => {
    const { id, result } = JSON.parse(message) as { readonly id: number; readonly result: Coverage };
    threads.get(sessionId)?.get(id)?.(result);
    threads.get(sessionId)?.delete(id);
  });
  session.connect();
  session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  process.on("message", (message) => {
    if (message !== "executed") return;
    const all = [...threads.keys()].map((id) => new Promise<Coverage>((answer) => askThread(id, take, {}, answer)));
    const main = new Promise<Coverage>((resolve) => session.post(take, (_, coverage) => resolve(coverage)));
    void Promise.all([main, ...all]).then(([own, ...others]) =>
      process.send?.({ main: filesIn(own), threads: [...new Set(others.flatMap(filesIn))] }),
    );
  });
}

const take = "Profiler.takePreciseCoverage";

if (isMainThread) start(new Session());
