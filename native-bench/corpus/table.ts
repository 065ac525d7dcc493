import { makeAdversarial } from "./adversarial.js";
import { makeForks } from "./forks.js";
import { archiveChecksum, makeHistory, makeLinux } from "./linux.js";
import { madeOne, type Made } from "./made.js";
import { makeMany } from "./many.js";
import { installedChecksum, makeModules } from "./modules.js";
import type { Source } from "./repositories.js";

/** A corpus, how it is made, and what it is like once it is. */
export interface CorpusDefinition {
  readonly name: string;
  readonly what: string;
  /** What a person runs to have it. */
  readonly command: string;
  /** Time and disk that making it takes. */
  readonly cost: string;
  /** The corpus that it is cut from; `BENCH_CORPUS` stands for `linux` there too. */
  readonly cutFrom: string | undefined;
  /** Changes with what else it is made of; "" where that cannot be known. */
  readonly version: () => Promise<string>;
  /** As made from the versions that the committed runs were measured on; "" where it follows from what is installed. */
  readonly checksum: string;
  readonly fileCount: number;
  readonly textBytes: number;
  /** Fills an empty folder. `source` is the corpus that this one is cut from. */
  readonly make: (folder: string, source: Source, progress: (text: string) => void) => Promise<Made>;
}

const always = (): Promise<string> => Promise.resolve("1");

/** Every corpus. The same row gives the same commits on every machine. */
export const corpora: readonly CorpusDefinition[] = [
  {
    name: "linux", what: "Debian's linux-source-6.1 as one commit",
    command: "apt-get install linux-source-6.1 && bin/trawl-bench corpus linux", cost: "three minutes, 1.8 GB",
    cutFrom: undefined, version: archiveChecksum, checksum: "", fileCount: 0, textBytes: 0,
    make: async (folder) => { await makeLinux(folder); return await madeOne("linux", folder); },
  },
  {
    name: "linux-history", what: "the same tree in 200 commits that add subtrees and complete files",
    command: "bin/trawl-bench corpus linux-history", cost: "half a minute, 0.3 GB",
    cutFrom: "linux", version: always, checksum: "", fileCount: 0, textBytes: 0,
    make: async (folder, source) => { await makeHistory(folder, source); return await madeOne("linux-history", folder); },
  },
  {
    name: "modules", what: "the text files of this checkout's node_modules as one commit",
    command: "bin/trawl-bench corpus modules", cost: "half a minute, 0.3 GB",
    cutFrom: undefined, version: installedChecksum, checksum: "", fileCount: 0, textBytes: 0,
    make: async (folder) => { await makeModules(folder); return await madeOne("modules", folder); },
  },
  {
    name: "many", what: "10,000 repositories of 20 small files of the Linux source",
    command: "bin/trawl-bench corpus many", cost: "two minutes, 1.2 GB",
    cutFrom: "linux", version: always, checksum: "", fileCount: 0, textBytes: 0,
    make: (folder, source, progress) => makeMany(folder, source, 10_000, progress),
  },
  {
    name: "many-quick", what: "200 repositories of 20 small files of node_modules",
    command: "bin/trawl-bench corpus many-quick", cost: "some seconds, 0.03 GB",
    cutFrom: "modules", version: always, checksum: "", fileCount: 0, textBytes: 0,
    make: (folder, source, progress) => makeMany(folder, source, 200, progress),
  },
  {
    name: "forks", what: "a repository of every 32nd file of the Linux source, and 50 forks that differ in six files",
    command: "bin/trawl-bench corpus forks", cost: "some seconds, 0.02 GB",
    cutFrom: "linux", version: always, checksum: "", fileCount: 0, textBytes: 0, make: makeForks,
  },
  {
    name: "adversarial", what: "four spaces everywhere, a line of 200 MB, a million empty lines, random bytes, one trigram over and over",
    command: "bin/trawl-bench corpus adversarial", cost: "half a minute, 0.5 GB",
    cutFrom: undefined, version: always, checksum: "", fileCount: 0, textBytes: 0,
    make: async (folder) => { await makeAdversarial(folder); return await madeOne("adversarial", folder); },
  },
];
