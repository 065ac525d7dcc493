/**
 * fast-check with a fixed seed: a run says of a change whether it is good, not whether it was lucky. New cases are looked
 * for by hand, with `SEED=random` or a number.
 */
import fc from "fast-check";

const given = process.env["SEED"];

/** The seed of all that tests choose at random. */
export const seed = given === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(given ?? 20_261_121);

/** How many cases a property is tried with: `usual` many, or `RUNS` times as many. */
export function runs(usual: number): number {
  return Math.ceil(usual * Number(process.env["RUNS"] ?? 1));
}

fc.configureGlobal({ seed });

export { fc };
