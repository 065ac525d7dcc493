/** Shared memory that tells running slices how many others wait for a worker: of both lanes, and of the interactive one. */
export const pressureWords = { all: 0, interactive: 1 } as const;

export function makePressure(): Int32Array {
  return new Int32Array(new SharedArrayBuffer(Object.keys(pressureWords).length * Int32Array.BYTES_PER_ELEMENT));
}
