import { mkdirSync } from "node:fs";
import { open, type FileHandle, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { assert } from "../base/assert.js";
import type { JobRecord } from "./job-record.js";

/** The files of one job: `results.jsonl` and `log.csv`. */
export class JobFiles {
  readonly #folder: string;

  /** `jobsFolder` contains a folder for each job. */
  constructor(jobsFolder: string, id: number) {
    this.#folder = join(jobsFolder, String(id));
  }

  get results(): string {
    return join(this.#folder, "results.jsonl");
  }

  get log(): string {
    return join(this.#folder, "log.csv");
  }

  /** Opens both, and removes what was written after the last commit. */
  async openAt({ resultBytes, logBytes }: JobRecord): Promise<OpenFiles> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const results = await openCut(this.results, resultBytes);
    try {
      return { results, log: await openCut(this.log, logBytes) };
    } catch (error) {
      await results.close();
      throw error;
    }
  }

  /** Whether all that was committed is there: it is not if the data directory was restored from a backup. */
  async areWhole({ resultBytes, logBytes }: JobRecord): Promise<boolean> {
    return (await fileBytes(this.results)) >= resultBytes && (await fileBytes(this.log)) >= logBytes;
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

export interface OpenFiles {
  readonly results: FileHandle;
  readonly log: FileHandle;
}

async function openCut(path: string, byteCount: number): Promise<FileHandle> {
  const file = await open(path, "a", 0o600);
  try {
    const { size } = await file.stat();
    assert(byteCount >= 0 && byteCount <= size, `${path} has the bytes that were committed`);
    await file.truncate(byteCount);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** 0 if there is no such file. */
async function fileBytes(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
