import {
  archiveChecksum,
  installedChecksum,
  makeCommits,
  makeHistory,
  makeLinux,
  makeModules,
  makeGoLibrary,
  makeGoModule,
  makeNpmPackage,
  makePythonPackage,
} from "./sources.js";
import { makeMany } from "./many.js";
import type { Manifest, Source } from "./repositories.js";

/** A corpus, how it is made, and its properties once it is. */
export interface CorpusDefinition {
  readonly name: string;
  readonly what: string;
  /** What a user runs before it can be made. */
  readonly install?: string;
  /** Time and disk space that making it takes. */
  readonly cost: string;
  /** The corpus that it is cut from; with `BENCH_CORPUS` that repository replaces `linux` there too. */
  readonly cutFrom?: string;
  /** Changes with its sources apart from the other corpus; "" where that cannot be known. */
  readonly version: () => Promise<string>;
  /** Of the sources that the committed runs were measured on; "" where it depends on what is installed. */
  readonly checksum: string;
  readonly fileCount: number;
  readonly textBytes: number;
  /** Fills an empty folder; `source` is the corpus that this one is cut from. Without a manifest it is one repository. */
  readonly make: (folder: string, source: Source, progress: (text: string) => void) => Promise<Manifest | undefined>;
}

/** To be raised when a maker changes what it makes. */
const makers = (): Promise<string> => Promise.resolve("1");

type Make = CorpusDefinition["make"];
type Row = Omit<CorpusDefinition, "version" | "checksum"> & Partial<Pick<CorpusDefinition, "version" | "checksum">>;

/** A corpus that is a single repository. */
function single(make: (folder: string, source: Source) => Promise<void>): Make {
  return async (folder, source) => {
    await make(folder, source);
    return undefined;
  };
}

/** A released package. */
function released(name: string, what: string, cost: string, size: readonly [number, number], make: Make): Row {
  return { name, what, cost: `some seconds, ${cost}`, fileCount: size[0], textBytes: size[1], make };
}

const linuxSize = { fileCount: 78_579, textBytes: 1_298_681_992 };
const modulesSize = { fileCount: 19_630, textBytes: 135_922_892 };

const rows: readonly Row[] = [
  {
    name: "linux",
    what: "Debian's linux-source-6.1 as one commit",
    install: "apt-get install linux-source-6.1 && ",
    cost: "three minutes, 1.8 GB",
    version: archiveChecksum,
    checksum: "f4d71def85f991993d0ade2336bbcafe33803f5d",
    ...linuxSize,
    make: single(makeLinux),
  },
  {
    name: "linux-history",
    what: "the same tree in 200 commits that add subtrees and complete files",
    cost: "ten seconds, 0.3 GB",
    cutFrom: "linux",
    checksum: "cbd2f1e218256f848b840aaa44bdb5d48b3df81a",
    ...linuxSize,
    make: single(makeHistory),
  },
  {
    name: "modules",
    what: "the text files of this checkout's node_modules as one commit",
    cost: "half a minute, 0.3 GB",
    version: installedChecksum,
    ...modulesSize,
    make: single(makeModules),
  },
  {
    name: "modules-history",
    what: "the same tree in 200 commits, like `linux-history`",
    cost: "some seconds, 0.1 GB",
    cutFrom: "modules",
    ...modulesSize,
    make: single(makeHistory),
  },
  {
    name: "many",
    what: "10,000 repositories of 20 small files of the Linux source",
    cost: "one to three minutes, 0.8 GB",
    cutFrom: "linux",
    checksum: "d31bde1c90e71ddc3a5ca2d1b71141defeeecb47c06d0fb96bf69bd00faa6f9c",
    fileCount: 200_000,
    textBytes: 833_046_876,
    make: (folder, source, progress) => makeMany(folder, source, 10_000, progress),
  },
  {
    name: "many-quick",
    what: "200 repositories of 20 small files of node_modules",
    cost: "a second, 0.02 GB",
    cutFrom: "modules",
    fileCount: 4_000,
    textBytes: 7_243_066,
    make: (folder, source, progress) => makeMany(folder, source, 200, progress),
  },
  {
    name: "histories",
    what: "1,000 repositories of 20 commits, each of which adds a small file of the Linux source",
    cost: "half a minute, 0.1 GB",
    cutFrom: "linux",
    fileCount: 20_000,
    textBytes: 83_304_687,
    make: (folder, source, progress) => makeMany(folder, source, 1000, progress, 20),
  },
  {
    name: "histories-quick",
    what: "50 repositories of 20 commits, each of which adds a small file of node_modules",
    cost: "a second, 0.01 GB",
    cutFrom: "modules",
    fileCount: 1000,
    textBytes: 1_810_766,
    make: (folder, source, progress) => makeMany(folder, source, 50, progress, 20),
  },
  {
    name: "commits",
    what: "10,000 commits that change a hundred small files, and every 20th of them a file of 2,000 lines",
    cost: "some seconds, 0.04 GB",
    checksum: "06b49ddd30db1795c68907a3869107de654f637f",
    fileCount: 101,
    textBytes: 100_865,
    make: single(makeCommits),
  },
  {
    ...released("go", "Debian's golang-1.19-src as one commit", "0.20 GB", [8176, 99_036_021], single(makeGoLibrary)),
    install: "apt-get install golang-1.19-src && ",
  },
  released("webpack", "webpack 5.97.1 from npm", "0.01 GB", [687, 5_208_679], npm("webpack@5.97.1")),
  released("eslint", "eslint 9.17.0 from npm", "0.01 GB", [423, 3_370_234], npm("eslint@9.17.0")),
  released(
    "three",
    "three 0.171.0 from npm, with its examples and bundles",
    "0.05 GB",
    [1086, 25_525_927],
    npm("three@0.171.0"),
  ),
  released("rxjs", "rxjs 7.8.1 from npm, with its compiled copies", "0.01 GB", [2277, 4_501_327], npm("rxjs@7.8.1")),
  released(
    "django",
    "Django 5.1.4 from PyPI",
    "0.05 GB",
    [3658, 23_256_783],
    single((folder) => makePythonPackage(folder, "django==5.1.4")),
  ),
  released(
    "grpc",
    "google.golang.org/grpc 1.69.2, a Go module",
    "0.02 GB",
    [905, 8_650_750],
    single((folder) => makeGoModule(folder, "google.golang.org/grpc@v1.69.2")),
  ),
  released(
    "prometheus",
    "github.com/prometheus/prometheus 0.300.1, a Go module",
    "0.05 GB",
    [1366, 23_203_087],
    single((folder) => makeGoModule(folder, "github.com/prometheus/prometheus@v0.300.1")),
  ),
];

function npm(specifier: string): Make {
  return single((folder) => makeNpmPackage(folder, specifier));
}

/** Every corpus. The same row gives the same commits on every machine. */
export const corpora: readonly CorpusDefinition[] = rows.map((row) => ({ version: makers, checksum: "", ...row }));
