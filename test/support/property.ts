/**
 * fast-check with a fixed seed, so that the result of a run depends on the code and not on chance. To try new cases,
 * set `SEED=random` or `SEED` to a number.
 */
import fc from "fast-check";
import { scaled } from "./full-run.js";

const given = process.env["SEED"];

/** The seed of all random choices in tests. */
export const seed = given === "random" ? Math.floor(Math.random() * 2 ** 31) : Number(given ?? 20_261_121);

/**
 * The number of cases for a property: in `make test` a twenty-fourth of `usual`, in `make fuzz` five times and in a whole long run a
 * hundred times as many.
 */
export function runs(usual: number): number {
  return scaled(Math.ceil(usual / 24), 100 * usual);
}

fc.configureGlobal({ seed });

export { fc };
