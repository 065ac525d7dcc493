import { addonIfBuilt } from "../kernel/addon.js";

/** Limit on the registered children of one thread; further ones are unknown to the code that terminates the thread. */
const childCountMax = 64;

/** Memory for the children of one thread: one word each, 0 if unused. */
export function makeChildRegistry(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * childCountMax));
}

let ownChildren: Int32Array | undefined;

/**
 * From now on, this thread's children are recorded in `registry`, so that they can be killed when the thread is
 * terminated.
 */
export function useChildRegistry(registry: Int32Array): void {
  ownChildren = registry;
}

/** Must be called when this thread has started a process. */
export function recordChild(pid: number): void {
  const free = ownChildren?.indexOf(0) ?? -1;
  if (ownChildren !== undefined && free >= 0) Atomics.store(ownChildren, free, pid);
}

/** Must be called when the child has exited and its process id may be reused. */
export function forgetChild(pid: number): void {
  const index = ownChildren?.indexOf(pid) ?? -1;
  if (ownChildren !== undefined && index >= 0) Atomics.store(ownChildren, index, 0);
}

/** Kills the children of an exited thread and their descendants: each child leads its own session. */
export function killChildren(registry: Int32Array): void {
  for (const pid of livingIn(registry)) {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has already exited.
    }
  }
}

/** True if all of the children have exited and been reaped. */
export function areChildrenGone(registry: Int32Array): boolean {
  const addon = addonIfBuilt();
  // Without the addon, the children are started by Node, which does not reap those of an exited thread.
  for (const pid of livingIn(registry))
    if (addon === undefined || addon.hasEnded(pid, new Uint32Array(2))) registry[registry.indexOf(pid)] = 0;
  return livingIn(registry).length === 0;
}

function livingIn(registry: Int32Array): number[] {
  return [...registry].filter((pid) => pid !== 0);
}
