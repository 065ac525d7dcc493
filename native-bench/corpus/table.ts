import { archiveChecksum, installedChecksum, makeCommits, makeHistory, makeLinux, makeModules } from "./sources.js";
import { makeMany } from "./many.js";
import { makeGoLibrary, makeGoModule, makeNpmPackage, makePythonPackage } from "./packages.js";
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

/** A corpus that is a single repository. */
function single(make: (folder: string, source: Source) => Promise<void>): CorpusDefinition["make"] {
  return async (folder, source) => {
    await make(folder, source);
    return undefined;
  };
}

/** Every corpus. The same row gives the same commits on every machine. */
export const corpora: readonly CorpusDefinition[] = [
  {
    name: "linux",
    what: "Debian's linux-source-6.1 as one commit",
    install: "apt-get install linux-source-6.1 && ",
    cost: "three minutes, 1.8 GB",
    version: archiveChecksum,
    checksum: "f4d71def85f991993d0ade2336bbcafe33803f5d",
    fileCount: 78_579,
    textBytes: 1_298_681_992,
    make: single(makeLinux),
  },
  {
    name: "linux-history",
    what: "the same tree in 200 commits that add subtrees and complete files",
    cost: "ten seconds, 0.3 GB",
    cutFrom: "linux",
    version: makers,
    checksum: "cbd2f1e218256f848b840aaa44bdb5d48b3df81a",
    fileCount: 78_579,
    textBytes: 1_298_681_992,
    make: single(makeHistory),
  },
  {
    name: "modules",
    what: "the text files of this checkout's node_modules as one commit",
    cost: "half a minute, 0.3 GB",
    version: installedChecksum,
    checksum: "",
    fileCount: 19_630,
    textBytes: 135_922_892,
    make: single(makeModules),
  },
  {
    name: "modules-history",
    what: "the same tree in 200 commits, like `linux-history`",
    cost: "some seconds, 0.1 GB",
    cutFrom: "modules",
    version: makers,
    checksum: "",
    fileCount: 19_630,
    textBytes: 135_922_892,
    make: single(makeHistory),
  },
  {
    name: "many",
    what: "10,000 repositories of 20 small files of the Linux source",
    cost: "one to three minutes, 0.8 GB",
    cutFrom: "linux",
    version: makers,
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
    version: makers,
    checksum: "",
    fileCount: 4_000,
    textBytes: 7_243_066,
    make: (folder, source, progress) => makeMany(folder, source, 200, progress),
  },
  {
    name: "histories",
    what: "1,000 repositories of 20 commits, each of which adds a small file of the Linux source",
    cost: "half a minute, 0.1 GB",
    cutFrom: "linux",
    version: makers,
    checksum: "",
    fileCount: 20_000,
    textBytes: 83_304_687,
    make: (folder, source, progress) => makeMany(folder, source, 1000, progress, 20),
  },
  {
    name: "histories-quick",
    what: "50 repositories of 20 commits, each of which adds a small file of node_modules",
    cost: "a second, 0.01 GB",
    cutFrom: "modules",
    version: makers,
    checksum: "",
    fileCount: 1000,
    textBytes: 1_810_766,
    make: (folder, source, progress) => makeMany(folder, source, 50, progress, 20),
  },
  {
    name: "commits",
    what: "10,000 commits that change a hundred small files, and every 20th of them a file of 2,000 lines",
    cost: "some seconds, 0.04 GB",
    version: makers,
    checksum: "06b49ddd30db1795c68907a3869107de654f637f",
    fileCount: 101,
    textBytes: 100_865,
    make: single(makeCommits),
  },
  {
    name: "go",
    what: "Debian's golang-1.19-src as one commit",
    install: "apt-get install golang-1.19-src && ",
    cost: "some seconds, 0.20 GB",
    version: makers,
    checksum: "",
    fileCount: 8176,
    textBytes: 99_036_021,
    make: single((folder) => makeGoLibrary(folder)),
  },
  {
    name: "webpack",
    what: "webpack 5.97.1 from npm",
    cost: "some seconds, 0.01 GB",
    version: makers,
    checksum: "",
    fileCount: 687,
    textBytes: 5_208_679,
    make: single((folder) => makeNpmPackage(folder, "webpack@5.97.1")),
  },
  {
    name: "eslint",
    what: "eslint 9.17.0 from npm",
    cost: "some seconds, 0.01 GB",
    version: makers,
    checksum: "",
    fileCount: 423,
    textBytes: 3_370_234,
    make: single((folder) => makeNpmPackage(folder, "eslint@9.17.0")),
  },
  {
    name: "three",
    what: "three 0.171.0 from npm, with its examples and bundles",
    cost: "some seconds, 0.05 GB",
    version: makers,
    checksum: "",
    fileCount: 1086,
    textBytes: 25_525_927,
    make: single((folder) => makeNpmPackage(folder, "three@0.171.0")),
  },
  {
    name: "rxjs",
    what: "rxjs 7.8.1 from npm, with its compiled copies",
    cost: "some seconds, 0.01 GB",
    version: makers,
    checksum: "",
    fileCount: 2277,
    textBytes: 4_501_327,
    make: single((folder) => makeNpmPackage(folder, "rxjs@7.8.1")),
  },
  {
    name: "django",
    what: "Django 5.1.4 from PyPI",
    cost: "some seconds, 0.05 GB",
    version: makers,
    checksum: "",
    fileCount: 3658,
    textBytes: 23_256_783,
    make: single((folder) => makePythonPackage(folder, "django==5.1.4")),
  },
  {
    name: "grpc",
    what: "google.golang.org/grpc 1.69.2, a Go module",
    cost: "some seconds, 0.02 GB",
    version: makers,
    checksum: "",
    fileCount: 905,
    textBytes: 8_650_750,
    make: single((folder) => makeGoModule(folder, "google.golang.org/grpc@v1.69.2")),
  },
  {
    name: "prometheus",
    what: "github.com/prometheus/prometheus 0.300.1, a Go module",
    cost: "some seconds, 0.05 GB",
    version: makers,
    checksum: "",
    fileCount: 1366,
    textBytes: 23_203_087,
    make: single((folder) => makeGoModule(folder, "github.com/prometheus/prometheus@v0.300.1")),
  },
];
