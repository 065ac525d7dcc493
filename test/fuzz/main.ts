/** `make fuzz`: all targets, or one, with inputs from a seed that is printed. */
import { fuzz, printFailure, runRegressions, startWatchdog } from "./runner.js";
import { targets } from "./targets.js";

/** What each target is given unless the caller says otherwise. */
const countMax = 1_000_000;
const secondsUsual = 30;

const { TARGET: name, SEED: seedText, INPUTS: countText, SECONDS: secondsText } = process.env;
const seed = seedText === undefined || seedText === "" ? Math.floor(Math.random() * 2 ** 30) : Number(seedText);
const chosen = targets.filter((target) => name === undefined || name === "" || target.name === name);
const isBounded = countText === undefined || countText === "";
const stopWatchdog = startWatchdog();

if (chosen.length === 0 || !Number.isSafeInteger(seed)) {
  process.stderr.write(`TARGET is one of ${targets.map((target) => target.name).join(", ")}; SEED is a number\n`);
  process.exitCode = 2;
}
for (const target of chosen) {
  const startedMs = performance.now();
  const bounds = {
    seed,
    countMax: isBounded ? countMax : Number(countText),
    ms: isBounded ? (secondsText ? Number(secondsText) : secondsUsual) * 1000 : Infinity,
  };
  const { count, failures } = fuzz(target, bounds);
  process.stdout.write(
    `${target.name}: ${count} inputs from SEED=${seed} in ${((performance.now() - startedMs) / 1000).toFixed(1)} s\n`,
  );
  for (const failure of [...runRegressions(target), ...failures]) {
    process.stdout.write(printFailure(failure));
    process.exitCode = 1;
  }
}
await stopWatchdog();
