import { addonIfBuilt } from "../addon.js";

/** Children that one thread may have at a time; those beyond are not known to whoever ends the thread. */
export const childCountMax = 64;

/** Memory for the children of one thread: a word for each, 0 where there is none. */
export function makeChildRegistry(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(4 * childCountMax));
}

let ownChildren: Int32Array | undefined;

/** From here on this thread's children are in `registry`, so that they can be killed when the thread is ended. */
export function useChildRegistry(registry: Int32Array): void {
  ownChildren = registry;
}

/** To be called when this thread has started a process. */
export function recordChild(pid: number): void {
  const free = ownChildren?.indexOf(0) ?? -1;
  if (ownChildren !== undefined && free >= 0) Atomics.store(ownChildren, free, pid);
}

/** To be called when the child has ended and its process id is free for another process. */
export function forgetChild(pid: number): void {
  const index = ownChildren?.indexOf(pid) ?? -1;
  if (ownChildren !== undefined && index >= 0) Atomics.store(ownChildren, index, 0);
}

/** Kills the children of a thread that is gone, with what they have started: each child leads a session of its own. */
export function killChildren(registry: Int32Array): void {
  for (const pid of livingIn(registry)) {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}

/** True when all of the children are gone and the system keeps nothing of them. */
export function areChildrenGone(registry: Int32Array): boolean {
  const addon = addonIfBuilt();
  // Without the addon the children are Node's, which forgets those of a thread that is gone.
  for (const pid of livingIn(registry))
    if (addon === undefined || addon.hasEnded(pid, new Uint32Array(2))) registry[registry.indexOf(pid)] = 0;
  return livingIn(registry).length === 0;
}

function livingIn(registry: Int32Array): number[] {
  return [...registry].filter((pid) => pid !== 0);
}
