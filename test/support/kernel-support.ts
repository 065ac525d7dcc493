import t, { type Test } from "tap";
import { loadAddon } from "../../src/native/kernel/addon.js";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import { kernelOver } from "../../src/native/kernel/native-kernel.js";
import { portableKernel } from "../../src/native/kernel/portable.js";
import { fc, runs } from "./property.js";

/** A kernel under test, or the reason why it cannot run here. */
interface Candidate {
  readonly title: string;
  readonly kernel: Kernel | undefined;
  readonly skip: string | false;
}

/** The TypeScript kernel, and the native kernel for each instruction set of this processor. */
const candidates: readonly Candidate[] = [{ title: "ts", kernel: portableKernel, skip: false }, ...nativeCandidates()];

function nativeCandidates(): Candidate[] {
  try {
    return Object.entries(loadAddon().kernels).map(([unit, methods]) => {
      return { title: `native ${unit}`, kernel: kernelOver(methods), skip: false };
    });
  } catch (error) {
    return [{ title: "native", kernel: undefined, skip: String(error) }];
  }
}

/** Runs `body` as a subtest for each kernel. */
export function forEachKernel(name: string, body: (t: Test, kernel: Kernel) => void): void {
  for (const { title, kernel, skip } of candidates) {
    void t.test(`${title}: ${name}`, { skip }, async (sub) => {
      if (kernel !== undefined) body(sub, kernel);
    });
  }
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Copies the bytes to an odd offset in a larger buffer whose other bytes would change results if they were read. */
export function amidOthers(text: Uint8Array, before: number): Uint8Array {
  const whole = new Uint8Array(before + text.length + 70).fill(0x61);
  whole.set(text, before);
  return whole.subarray(before, before + text.length);
}

/** Asserts that the property holds in `runs(usual)` random cases; a failure shows the smallest case found and its seed. */
export function holds<Case>(t: Test, usual: number, property: fc.IProperty<Case>): void {
  const numRuns = runs(usual);
  t.doesNotThrow(() => fc.assert(property, { numRuns }), `holds in ${numRuns} cases`);
}
