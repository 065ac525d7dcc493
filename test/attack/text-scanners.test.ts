/**
 * Scanners by hand against the regular expressions that they stand for: those say in one line what is read, and take
 * quadratic time or more.
 */
import t from "tap";
import { readCredential } from "../../src/account/sign-in/credential.js";
import { nameOfUrl } from "../../src/base/repository-url.js";
import { parseContributor } from "../../src/git/history/commits.js";
import { includeGlob } from "../../src/git/mirror/ref-glob.js";
import { redactUrl } from "../../src/git/run/remote-url.js";
import { linksMarkdown } from "../../src/browse/markdown.js";
import { nameOfCloneUrl } from "../../src/browse/urls.js";
import { Router } from "../../src/http/server/router.js";
import { splitRange } from "../../src/model/revision-syntax.js";
import { readPredicate } from "../../src/query/fields/repository-predicates.js";
import { readTimeoutMs } from "../../src/query/fields/values.js";
import { compileRegexp } from "../../src/regexp/match/matcher.js";
import { fc, runs } from "../support/property.js";

interface Row {
  readonly name: string;
  /** Texts are made of these. */
  readonly pieces: readonly string[];
  readonly scanner: (text: string) => unknown;
  readonly oracle: (text: string) => unknown;
}

const rows: readonly Row[] = [
  {
    name: "the host and path of a clone URL",
    pieces: ["https://", "ssh://", "a", "b.c", ".", ":", "/", "@", "1", ".git", "git@"],
    scanner: nameOfCloneUrl,
    oracle: (text) => {
      const found =
        /^(?:https?|ssh|git):\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/(.+)$/.exec(text) ??
        /^(?:[^@/:]+@)?([^/:]+\.[^/:]+):(?!\/)(.+)$/.exec(text);
      const path = found?.[2]?.replace(/\/+$/, "").replace(/\.git$/, "") ?? "";
      return path === "" ? undefined : `${found?.[1]?.toLowerCase()}/${path}`;
    },
  },
  {
    name: "the name of a repository by its URL",
    pieces: ["https://", "a", "b.c", ":", "/", "@", "1", ".git", "file:", " "],
    scanner: nameOfUrl,
    oracle: (text) => {
      const remote = /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^@/]*@)?([^/:]+)(?::[0-9]+(?=\/))?[:/]+(.*)$/i.exec(text);
      const isLocal = text.startsWith("/") || text.startsWith("file:");
      const name =
        remote === null || isLocal ? (text.replace(/\/+$/, "").split("/").at(-1) ?? "") : `${remote[1]}/${remote[2]}`;
      return name
        .replace(/\/+$/, "")
        .replace(/\.git$/, "")
        .replace(/[\s@:\\]+/g, "-");
    },
  },
  {
    name: "user and password in a text",
    pieces: ["a", "_", "-", "://", "https://", ":", "/", "@", "1", " ", "'", "?", "#", "."],
    scanner: redactUrl,
    // Whatever stands before the two slashes: a URL with a broken scheme may still hold a password.
    oracle: (text) => text.replace(/(:\/\/)[^\s/?#'"]*(?::(?!\d*(?:\/|$))[^\s'"]*)?@/gi, "$1***@"),
  },
  {
    name: "a duration",
    pieces: ["1", "20", ".", "h", "m", "s", "ms", "µs", "n", "+", "-", "0"],
    scanner: (text) => outcome(() => readTimeoutMs(text)),
    oracle: (text) =>
      outcome(() => {
        const parts = text.replace(/^[+-]/, "");
        if (parts === "0") return 0;
        if (!/^(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(parts)) throw new Error();
        const units: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
        const sum = [...parts.matchAll(/([0-9.]+)([^0-9.]+)/g)].reduce(
          (ms, [, amount, unit]) => ms + Number(amount) * (units[unit ?? ""] ?? 0),
          0,
        );
        if (sum > 2 ** 63 / 1e6) throw new Error();
        return Math.max(0, (text.startsWith("-") ? -1 : 1) * sum);
      }),
  },
  {
    name: "the pairs of a credential",
    pieces: ["token", "user", "=", '"', "a", "\\", ",", " ", "\t", "-"],
    scanner: (text) => readCredential("", `token-sudo ${text}`),
    oracle: (text) => {
      const pairs = pairsOf(text.trim());
      const token = pairs?.get("token") ?? "";
      return token === "" ? { kind: "malformed" } : { kind: "sudo", token, user: pairs?.get("user") ?? "" };
    },
  },
  {
    name: "links in Markdown",
    pieces: ["[", "]", "(", ")", "a", "](", "`", "<"],
    scanner: (text) => linksMarkdown(text).html,
    oracle: (text) => {
      const html = text
        .replaceAll("<", "&lt;")
        .replace(/`([^`]*)`/g, "<code>$1</code>")
        .replace(/\[([^\]]*)\]\(([^)]*)\)/g, '<a href="$2" rel="nofollow">$1</a>');
      return `<p>${html}</p>\n`;
    },
  },
  {
    name: "a range of revisions",
    pieces: [".", "..", "a", "~"],
    scanner: (text) => splitRange(text),
    oracle: (text) => {
      const found = /^(.*?)\.{2,3}(.*)$/.exec(text);
      return found === null ? undefined : { base: found[1], head: found[2] };
    },
  },
  {
    name: "a contributor",
    pieces: [" ", "1", "\t", "a", " <", ">", "@"],
    scanner: parseContributor,
    oracle: (text) => {
      const found = /^\s*(\d+)\t(.*) <([^>]*)>$/.exec(text);
      return found === null ? undefined : { name: found[2], email: found[3], commitCount: Number(found[1]) };
    },
  },
  {
    name: "blanks in a description",
    pieces: [" ", "a", "[", "]", "\\", "b"],
    scanner: (text) => outcome(() => readPredicate("has.description", text)),
    oracle: (text) =>
      outcome(() => {
        compileRegexp(text, false);
        if (text === "") throw new Error();
        const source = text.replace(/\\.|\[(?:\\.|[^\]\\])*\]| +/gs, (piece) =>
          piece.startsWith(" ") ? ").*?(?:" : piece,
        );
        return { kind: "description", source: `(?s:(?:${source}))` };
      }),
  },
  {
    name: "a glob of refs",
    pieces: ["*", "?", "[", "]", "!", "^", "a", "b", "\\", "-", "refs/"],
    scanner: (text) => refs.map(includeGlob(`${text}*`)),
    oracle: (text) => {
      const glob = text.startsWith("refs/") ? `${text}*` : `refs/${text}*`;
      const source = glob.replace(
        /\\(.)|\[([!^]?)(\]?[^\]]*)\]|[^]/gu,
        (part, escaped?: string, negation?: string, members?: string) => {
          if (escaped !== undefined) return quoted(escaped);
          if (members !== undefined)
            return `[${negation === "" ? "" : "^"}${members.replace(/\\([^])|[\\[\]^&~]/g, (one, plain?: string) => (/\w/.test(plain ?? one) ? (plain ?? one) : `\\${plain ?? one}`))}]`;
          return part === "*" ? ".*" : part === "?" ? "." : part === "[" ? "[" : quoted(part);
        },
      );
      const found = outcome(() => compileRegexp(`^(?s:${source})$`, false));
      return refs.map(
        (ref) => typeof found === "object" && compileRegexp(`^(?s:${source})$`, false).test(Buffer.from(ref)),
      );
    },
  },
  {
    name: "the captures of a route",
    pieces: ["/x/", "/y/", "a", "/", "/z", "y"],
    scanner: (text) => {
      const found = route.find("GET", text);
      return found.kind === "route" ? [found.params["NAME"], found.params["REV"]] : undefined;
    },
    oracle: (text) => /^\/x\/(.+)\/y\/(.+)\/z$/.exec(text)?.slice(1),
  },
];

const refs = ["refs/heads/a", "refs/a", "refs/ab", "refs/a]", "refs/[b", "refs/b-", "refs/^", "refs/!a"];

const route = new Router<string>();
route.add("GET", "/x/NAME/y/REV/z", "it");

function quoted(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return "refused";
  }
}

function pairsOf(text: string): Map<string, string> | undefined {
  const pair = /\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",=]*))\s*(,|$)/y;
  const pairs = new Map<string, string>();
  while (pair.lastIndex < text.length) {
    const found = pair.exec(text);
    const key = found?.[1]?.toLowerCase() ?? "";
    if (found === null || pairs.has(key)) return undefined;
    pairs.set(key, found[2]?.replace(/\\(.)/g, "$1") ?? found[3] ?? "");
    if (found[4] === "") return pairs;
  }
  return undefined;
}

for (const { name, pieces, scanner, oracle } of rows) {
  t.test(name, async (t) => {
    const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(texts, (text) => {
        const [found, wanted] = [scanner(text), oracle(text)];
        if (JSON.stringify(found) !== JSON.stringify(wanted))
          throw new Error(`${JSON.stringify(text)}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
      }),
      { numRuns: runs(1000) },
    );
    t.pass();
  });
}
