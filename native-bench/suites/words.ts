import { openMainCorpus } from "../corpus/corpus.js";
import { drawWords } from "../corpus/words.js";
import { Generator, getRequest, type HttpRequest, postJson, type RequestPace } from "../load/generator.js";
import { compare } from "../peers/peer.js";
import { literal } from "../peers/queries.js";
import { trawlPeer } from "../peers/trawl.js";
import { firstResults, openZoekt } from "../peers/zoekt.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { quantile, readThreadsCpuMs, waitForIdle } from "../system/measure.js";
import { randomFrom } from "../system/random.js";
import { longSearches, ours, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/**
 * Words that people ask for: each is asked once, since people ask for another word each time, and in the form of the
 * page, ranked and with the first 50 results.
 */
export const wordsSuite: Suite = {
  name: "words",
  title: "Words of the source, none asked before",
  measure,
};

const seed = 1;
const shown = 50;
const clientCount = 32;
/** How many words one client asks, and how many all clients ask of each server in a round. */
const wordCounts = { full: { one: 200, round: 400 }, quick: { one: 40, round: 50 } } as const;

/** Every so many words the results are compared. */
const comparedStep = 10;

/** As many clients of our daemon alone as fill it and most of its queue of 256, and the words that they ask: none was asked before. */
const crowd = { clients: 200, words: 1000 } as const;

interface Server {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly toRequest: (word: string) => HttpRequest;
}

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, rounds, workFolder, progress } = context;
  const corpus = await openMainCorpus(context);
  const generator = await Generator.compile(workFolder);
  const zoekt = await openZoekt(corpus, context);
  const trawl = await startDaemon(context, "words-data", ...longSearches);
  await trawl.add(corpus.name, corpus.path, progress);
  progress("waiting until the symbols are extracted");
  await trawl.waitForSymbols();
  await waitForIdle(trawl.pid, 60_000);
  const servers: Server[] = [{ name: ours, url: trawl.url, pid: trawl.pid, toRequest: pageSearch }];
  if (zoekt.kind === "found") servers.push({ name: "zoekt", ...pick(zoekt.peer), toRequest: zoektSearch });
  else results.note(`zoekt is not measured: ${zoekt.reason}.`);
  progress("drawing words");
  const { one, round: each } = wordCounts[isQuick ? "quick" : "full"];
  const words = await drawWords(corpus, one + rounds * each + (isQuick ? 0 : crowd.words), randomFrom(seed));
  results.note(
    `The corpus ${corpus.name} has ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files. ${grouped(words.length)} different words of 4 to 40 letters were drawn from it: the identifier at a random place of a random file, with the seed ${seed}. The first are ${words.slice(0, 8).join(", ")}.`,
    `A search asks as the page does, with \`display=${shown}\`; zoekt is asked for the first ${shown} matches in at most ${shown} files. The processor time is that of all threads of the server.`,
  );
  await measureOneClient(servers, words.slice(0, one), generator, context, results);
  await measureClients(servers, words.slice(one, one + rounds * each), each, generator, context, results);
  if (!isQuick) await measureCrowd(servers[0], words.slice(-crowd.words), generator, results);
  if (zoekt.kind === "found") {
    progress("comparing results");
    for (const word of words.slice(0, one).filter((_, i) => i % comparedStep === 0)) {
      const query = { ...literal(word), ignoreCase: true };
      const [own, other] = [await trawlPeer(trawl).results(query), await zoekt.peer.results(query)];
      const sets = [
        { name: "zoekt", lines: other.lines },
        { name: ours, lines: own.lines },
      ] as const;
      const { unexplained, examples } = compare(...sets, zoekt.peer.explain);
      if (unexplained > 0)
        results.note(`RESULTS DIFFER for \`${word}\`: ${unexplained} lines, ${examples.join(", ")}.`);
    }
    await zoekt.peer.stop();
  }
  await trawl.stop();
}

const pick = ({ url, pid }: { readonly url: string; readonly pid: number }) => ({ url, pid });

/** A search in the form of the page. */
function pageSearch(word: string): HttpRequest {
  return getRequest(`/.api/search/stream?${new URLSearchParams({ q: word, t: "keyword", display: String(shown) })}`);
}

function zoektSearch(word: string): HttpRequest {
  return postJson("/api/search", { Q: `case:no ${word}`, Opts: firstResults(shown) });
}

const [firstTime, again] = ["a word, the first time", "a word, the second time"];
const [rateTask, rateTail] = [`${clientCount} clients, each with other words`, `${clientCount} clients, p99`];

async function measureOneClient(
  servers: readonly Server[],
  words: readonly string[],
  generator: Generator,
  { progress }: SuiteContext,
  results: Results,
): Promise<void> {
  results.grid(`One client, ${words.length} words: each of them`, ours, "words");
  const pace: RequestPace = { connections: 1, seconds: 600, count: words.length };
  for (const task of [firstTime, again]) {
    for (const { name, url, pid, toRequest } of servers) {
      progress(`${task}, ${name}`);
      const cpuBefore = readThreadsCpuMs(pid);
      const { eachMs } = await generator.measure(url, words.map(toRequest), pace);
      results.less(task, name, "ms", eachMs);
      results.less(`${task}, p99`, name, "ms", quantile(eachMs, 0.99));
      results.less(`${task}, processor time a search`, name, "ms", (readThreadsCpuMs(pid) - cpuBefore) / words.length);
    }
  }
  results.targets(
    {
      what: "words, the first time: p50 ÷ zoekt's",
      of: [firstTime, ours],
      over: [firstTime, "zoekt"],
      atMost: [0.7, 0.4],
    },
    {
      what: "words, the first time: p99 ÷ zoekt's",
      of: [`${firstTime}, p99`, ours],
      over: [`${firstTime}, p99`, "zoekt"],
      atMost: [0.5, 0.3],
    },
    { what: "words, the second time: p50 ÷ zoekt's", of: [again, ours], over: [again, "zoekt"], atMost: [0.7, 0.4] },
    {
      what: "words, the second time: processor time a search",
      of: [`${again}, processor time a search`, ours],
      atMost: [3, 1.5],
    },
  );
}

/** Both servers in turn, round after round, each round with other words, of which none is asked twice. */
async function measureClients(
  servers: readonly Server[],
  words: readonly string[],
  each: number,
  generator: Generator,
  { rounds, progress }: SuiteContext,
  results: Results,
): Promise<void> {
  const measured = servers.map(() => ({ rate: [] as number[], latencies: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    const asked = words.slice(round * each, (round + 1) * each);
    for (const [i, { name, url, toRequest }] of servers.entries()) {
      progress(`${rateTask}, ${name}, round ${round + 1} of ${rounds}`);
      const pace: RequestPace = { connections: clientCount, seconds: 120, count: each };
      const { perSecond, eachMs } = await generator.measure(url, asked.map(toRequest), pace);
      measured[i]?.rate.push(perSecond);
      measured[i]?.latencies.push(...eachMs);
    }
  }
  results.grid(`${clientCount} clients, ${shown} results each, ${grouped(words.length)} words, none asked twice`, ours);
  for (const [i, { name }] of servers.entries()) {
    const { rate = [], latencies = [] } = measured[i] ?? {};
    results.more(rateTask, name, "requests/s", rate);
    results.less(`${clientCount} clients, p50`, name, "ms", quantile(latencies, 0.5));
    results.less(rateTail, name, "ms", quantile(latencies, 0.99));
  }
  const [own, other] = [results.median(rateTail, ours), results.median(rateTail, "zoekt")];
  const what = `${clientCount} clients: requests a second ÷ zoekt's, at better p99`;
  const note = `${results.text(rateTask, ours)} against ${results.text(rateTask, "zoekt", "")}; p99 ${short(own)} ms against ${short(other)}`;
  const value = results.median(rateTask, ours) / results.median(rateTask, "zoekt");
  results.targets({ what, value: own > other ? undefined : value, atLeast: [8, 12], note });
}

/** More clients at once than the daemon serves: the others wait in its queue. A refusal would fail the suite. */
async function measureCrowd(
  server: Server | undefined,
  words: readonly string[],
  generator: Generator,
  results: Results,
): Promise<void> {
  if (server === undefined) return;
  const pace: RequestPace = { connections: crowd.clients, seconds: 120, count: words.length };
  const { perSecond, p50Ms, p99Ms } = await generator.measure(server.url, words.map(server.toRequest), pace);
  results.list(`${crowd.clients} clients of our daemon alone`);
  results.more(`${crowd.clients} clients, each with other words`, ours, "requests/s", perSecond);
  results.less(`${crowd.clients} clients, p50`, ours, "ms", p50Ms);
  results.less(`${crowd.clients} clients, p99`, ours, "ms", p99Ms);
}
