import type { Corpus, CorpusContext } from "../corpus/corpus.js";
import { codesearchVersion, openCodesearch, openGitGrep } from "./command-line-tools.js";
import type { Found, Peer } from "./peer.js";
import { openRipgrep, type Ripgrep, ripgrepVersion } from "./ripgrep.js";
import { openZoekt, type Zoekt, zoektVersion } from "./zoekt.js";

/** The installed peers, and those that are missing. */
export interface Peers {
  readonly found: readonly Peer[];
  readonly missing: readonly { readonly name: string; readonly reason: string }[];
  readonly ripgrep: Ripgrep | undefined;
  readonly zoekt: Zoekt | undefined;
}

/** All that are installed, ready to be asked. Builds the indexes that are missing. */
export async function openPeers(corpus: Corpus, context: CorpusContext): Promise<Peers> {
  const ripgrep = await openRipgrep(corpus);
  const zoekt = await openZoekt(corpus, context);
  const others = [await openGitGrep(corpus), await openCodesearch(corpus, context)];
  const all: readonly Found<Peer>[] = [ripgrep, ...others, zoekt];
  return {
    found: all.flatMap((each) => (each.kind === "found" ? [each.peer] : [])),
    missing: all.flatMap((each) => (each.kind === "missing" ? [each] : [])),
    ripgrep: ripgrep.kind === "found" ? ripgrep.peer : undefined,
    zoekt: zoekt.kind === "found" ? zoekt.peer : undefined,
  };
}

/** The versions of those that are installed, by name, without git's. */
export async function peerVersions(): Promise<Record<string, string>> {
  const versions = { rg: await ripgrepVersion(), csearch: await codesearchVersion(), zoekt: await zoektVersion() };
  const installed = Object.entries(versions).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(installed);
}
