/**
 * fast-check with a fixed seed: a run says of a change whether it is good, not whether it was lucky. New cases are
 * looked for by hand, with `SEED=random` or a number.
 */
import fc from "fast-check";
import { scaled } from "./full-run.js";

const given = process.env["SEED"];

/** The seed of all that tests choose at random. */
export const seed = given === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(given ?? 20_261_121);

/** How many cases a property is tried with: `usual` many, and a hundred times as many in a long run. */
export function runs(usual: number): number {
  return scaled(usual, 100 * usual);
}

fc.configureGlobal({ seed });

export { fc };
