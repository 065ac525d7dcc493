import { setFlagsFromString } from "node:v8";

/**
 * Makes each thread of the process collect its young objects without helper threads. By default V8 shares that work,
 * about a megabyte, with helper threads and waits for all of them; here the cores are busy with search workers, so a
 * helper waits for a core in the middle of the collection. With three busy threads on two cores that were also used by
 * others, the median pause was 8 to 14 ms instead of 1 ms.
 */
export function collectAlone(): void {
  setFlagsFromString("--no-parallel-scavenge");
}

/**
 * Makes a search after a pause as fast as one before it. Must be called before threads are started.
 *
 * By default V8 saves memory by fully collecting a heap that has been idle for 8 s. Between two searches many classes
 * have no live objects, so the collection frees their hidden classes, and with them all code that was optimized for
 * them; the next search spends three quarters of its time on interpreting and compiling. The collection also shrinks the
 * young generation to 1 MiB, so that it is collected many times in the next search until it has grown again.
 *
 * Without these collections a thread's old generation would be collected for the first time at more than 100 MiB. The
 * lower initial size makes V8 collect it from 24 MiB on.
 *
 * V8 begins a full collection when less than the size of the young generation, 16 MiB on the main thread, is left to the
 * limit of the old one, which it computes as about 1.6 times what was live: with 26 MiB live it collected the main
 * thread's heap every 13 searches for `TODO`, each time for 20 ms, and compiled code again. With twice what was live it
 * does so every 200.
 *
 * By default V8 allocates objects directly in the old generation if earlier ones from the same place in the code have
 * survived young collections, as those of running searches do. Objects in the old generation that are dead keep what
 * they refer to alive until the next full collection. Of 12 MiB that short searches had allocated, 7 MiB survived each
 * young collection of the main thread; with this option, at most 2 MiB.
 */
export function keepCompiledCode(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  setFlagsFromString("--no-memory-reducer");
  setFlagsFromString("--min-semi-space-size=4");
  setFlagsFromString("--initial-old-space-size=24");
  setFlagsFromString("--heap-growing-percent=100");
}
