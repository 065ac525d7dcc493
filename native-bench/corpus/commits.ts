import { randomFrom } from "../system/random.js";
import { FastImport, firstCommitSeconds, type FileChange } from "./fast-import.js";
import { initBare, ownObjects } from "./repositories.js";

/** The file that is blamed. */
export const ledgerPath = "ledger.txt";
export const ledgerLines = 2000;

export const commitCount = 10_000;

/** Every `ledgerPeriod`th commit changes `linesEach` lines of the ledger. */
const ledgerPeriod = 20;
const linesEach = 8;
const smallFiles = 100;

/** A long history: each commit writes one of a hundred small files, and every 20th some lines of one with 2,000. */
export async function makeCommits(folder: string): Promise<void> {
  const random = randomFrom(1);
  const ledger = Array.from({ length: ledgerLines }, (_, line) => `entry ${line} of the ledger, from the beginning`);
  initBare(folder);
  const importer = new FastImport(folder);
  for (let i = 0; i < commitCount; i++) {
    const changes: FileChange[] = [
      { kind: "bytes", path: `notes/${i % smallFiles}.txt`, bytes: Buffer.from(`note ${i}\n`) },
    ];
    if (i % ledgerPeriod === 0) {
      for (let k = 0; i > 0 && k < linesEach; k++)
        ledger[random(ledgerLines)] = `entry of commit ${i}, number ${k}, with amount ${random(1_000_000)}`;
      changes.push({ kind: "bytes", path: ledgerPath, bytes: Buffer.from(`${ledger.join("\n")}\n`) });
    }
    await importer.commit("main", { kind: i === 0 ? "none" : "previous" }, firstCommitSeconds + i * 60, changes);
  }
  await importer.end();
  await ownObjects(folder);
}
