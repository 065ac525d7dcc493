/**
 * Whether the time of an answer tells what the answer does not: that a hidden repository is there, or how much of a
 * wrong token is right. Two kinds of requests take turns in a random order on one connection; the means of their times,
 * without the slowest tenth of all, are compared by Welch's test.
 */
import { Agent, request } from "node:http";
import t from "tap";
import { monotonicMs } from "../../src/base/deadline.js";
import { testDaemon, type DaemonProcess } from "../support/daemon.js";
import { record, rounds, scaled } from "../support/full-run.js";
import { fixture } from "../support/git-mirror.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { within } from "../support/waiting.js";

const requestCount = scaled(150, 10_000);
/** In a long run p > 0.01; a short one only meets what is plain to see. */
const scoreMax = requestCount < 1_000 ? 6 : 2.58;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
t.teardown(() => agent.destroy());
const random = randomFrom(seed);

interface Question {
  readonly path: string;
  readonly body?: string;
  readonly token: string;
}

function ask(
  daemon: DaemonProcess,
  { path, body, token }: Question,
): Promise<{ readonly ms: number; readonly answer: string }> {
  return within(
    new Promise((resolve, reject) => {
      const startedMs = monotonicMs();
      const sent = request(
        `${daemon.url}${path}`,
        { agent, method: body === undefined ? "GET" : "POST", headers: { authorization: `token ${token}` } },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          response.on("end", () =>
            resolve({ ms: monotonicMs() - startedMs, answer: `${response.statusCode} ${text}` }),
          );
        },
      );
      sent.on("error", reject);
      sent.end(body);
    }),
    path,
  );
}

/** How far two means are apart, in units of the error of their difference. */
function welch([a, b]: readonly [readonly number[], readonly number[]]): {
  readonly score: number;
  readonly differenceMs: number;
} {
  const limit = [...a, ...b].sort((x, y) => x - y)[Math.floor(0.9 * (a.length + b.length))]!;
  const [first, second] = [a, b].map((values) => {
    const kept = values.filter((value) => value < limit);
    const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length;
    return { mean, error: kept.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (kept.length - 1) / kept.length };
  });
  const differenceMs = first!.mean - second!.mean;
  return { differenceMs, score: differenceMs / Math.sqrt(first!.error + second!.error) };
}

async function compare(
  daemon: DaemonProcess,
  questions: readonly [Question, Question],
): Promise<{ readonly text: string; readonly isSame: boolean }> {
  const times: [number[], number[]] = [[], []];
  for (const _ of rounds(2 * requestCount)) {
    const which = random(2);
    times[which]!.push((await ask(daemon, questions[which]!)).ms);
  }
  const { score, differenceMs } = welch(times);
  return {
    isSame: Math.abs(score) < scoreMax,
    text: `${times[0].length} and ${times[1].length} requests, means ${(1000 * differenceMs).toFixed(1)} µs apart, score ${score.toFixed(2)}`,
  };
}

t.test("response times", { timeout: 7_200_000 }, async (t) => {
  const daemon = await testDaemon(t, ["--set", "workers=1", "--set", "index.workers=1"]);
  const [open, closed] = ["open", "closed"].map((label) => {
    const source = fixture(t);
    source.commit({
      branch: "main",
      files: { "a.txt": `needle of ${label}\n${label === "closed" ? "password\n" : ""}` },
    });
    return source;
  });
  await daemon.add("host/open", open!.path);
  await daemon.control("POST", "/.api/repos", { name: "host/closed", url: closed!.path, private: true });
  await daemon.control("POST", "/.api/users", { name: "ann" });
  const { text: token } = (await daemon.control("POST", "/.api/tokens", {
    user: "ann",
    scopes: ["user:all"],
    note: "",
    expires: "1d",
  })) as { text: string };
  const search = (query: string): Question => ({
    path: `/.api/search/stream?${new URLSearchParams({ q: query, v: "V3" })}`,
    token,
  });
  const repository = (name: string): Question => ({
    path: "/.api/graphql",
    token,
    body: JSON.stringify({ query: `{ repository(name: "${name}") { id } }` }),
  });
  const question = (text: string): Question => ({ path: "/.api/search/stream?q=needle", token: text });
  // The last hexadecimal digits of the token are others, or all of them are.
  const other = (text: string): string =>
    text.replace(/[0-9a-f]/g, (digit) => (15 - Number.parseInt(digit, 16)).toString(16));
  const cases: readonly (readonly [item: number, what: string, Question, Question])[] = [
    [
      29,
      "searching a hidden repository, and one that does not exist",
      search("repo:^host/closed$ needle"),
      search("repo:^host/clothed$ needle"),
    ],
    [
      29,
      "requesting over GraphQL a hidden repository, and one that does not exist",
      repository("host/closed"),
      repository("host/clothed"),
    ],
    [
      29,
      "searching for a word in a hidden repository, and for one that occurs nowhere",
      search("password"),
      search("passwdro"),
    ],
    [
      30,
      "a token with wrong final characters, and one that is entirely wrong",
      question(`${token.slice(0, -4)}${other(token.slice(-4))}`),
      question(`${token.slice(0, -40)}${other(token.slice(-40))}`),
    ],
  ];
  for (const [item, what, hidden, absent] of cases) {
    const [one, two] = [await ask(daemon, hidden), await ask(daemon, absent)];
    t.equal(one.answer.slice(0, 3), two.answer.slice(0, 3), `${what}: the same status`);
    // A difference that is one comes again.
    let outcome = await compare(daemon, [hidden, absent]);
    if (!outcome.isSame) outcome = await compare(daemon, [hidden, absent]);
    t.ok(outcome.isSame, `${what}: ${outcome.text}`);
    record(item, what, outcome.text);
  }
});
