import { rmSync } from "node:fs";
import { join } from "node:path";
import { openCorpus, type Corpus } from "../corpus/corpus.js";
import { SmallRequests } from "../load/small-requests.js";
import { Trawl } from "../peers/trawl.js";
import type { PartRecord } from "../report/record.js";
import { run } from "../system/processes.js";
import { monotonicMs } from "../../src/base/deadline.js";
import { describeGraphql } from "./graphql-record.js";
import {
  measureBeside,
  measureFirstPage,
  measureGit,
  measureServers,
  startServers,
  WideDaemon,
  type BesideOutcome,
  type FirstPage,
  type GitOutcome,
  type ServerOutcome,
  type WideServers,
} from "./graphql-stages.js";
import type { Part, PartContext } from "./part.js";

/** GraphQL: beside other servers, on many repositories, on a long history, and beside streams. */
export const graphqlPart: Part = {
  name: "graphql",
  title: "GraphQL beside other servers",
  estimateSeconds: ({ isQuick }) => (isQuick ? 60 : 140),
  measure,
};

export interface GraphqlMeasured {
  readonly addresses: WideServers["addresses"];
  readonly servers: readonly ServerOutcome[];
  readonly firstPage: FirstPage;
  readonly git: GitOutcome;
  readonly beside: BesideOutcome;
}

async function measure(context: PartContext): Promise<PartRecord> {
  const startedMs = monotonicMs();
  const generator = await SmallRequests.compile(context.workFolder);
  const measured = { ...(await measureWide(generator, context)), ...(await measureDeep(generator, context)) };
  return {
    part: graphqlPart.name,
    title: graphqlPart.title,
    seconds: (monotonicMs() - startedMs) / 1000,
    ...describeGraphql(measured, context.isQuick),
  };
}

/** What needs no mirror. */
async function measureWide(
  generator: SmallRequests,
  context: PartContext,
): Promise<Pick<GraphqlMeasured, "addresses" | "servers" | "firstPage">> {
  const daemon = new WideDaemon(context.workFolder);
  context.progress("the first page of 10,000 repositories");
  const firstPage = await measureFirstPage(daemon, context.rounds);
  const servers = await startServers(await daemon.start(), await daemon.createToken(), context.workFolder);
  const outcomes = await measureServers(servers, generator, context);
  await daemon.stop();
  return { addresses: servers.addresses, servers: outcomes, firstPage };
}

async function measureDeep(
  generator: SmallRequests,
  context: PartContext,
): Promise<Pick<GraphqlMeasured, "git" | "beside">> {
  const { workFolder, progress } = context;
  const history = await openCorpus("commits", context);
  const modules = await openCorpus("modules", context);
  const dataFolder = join(workFolder, "graphql-deep");
  const trawl = await Trawl.start(dataFolder, []);
  await trawl.add("commits", history.path, progress);
  progress("ancestors and blame of 10,000 commits");
  const git = await measureGit(trawl, history, context.rounds);
  await addBareClone(trawl, modules, context);
  progress("GraphQL beside exhaustive streams");
  const beside = await measureBeside(trawl, generator, context);
  await trawl.stop();
  rmSync(dataFolder, { recursive: true });
  return { git, beside };
}

/** Fetching from a work tree takes longer. */
async function addBareClone(trawl: Trawl, corpus: Corpus, { workFolder, progress }: PartContext): Promise<void> {
  const clone = join(workFolder, "graphql-modules.git");
  await run("git", ["clone", "-q", "--bare", corpus.path, clone], "");
  await trawl.add("modules", clone, progress);
  rmSync(clone, { recursive: true });
}
