/** Queries for a history from its own words, names, paths and dates, so that most of them find something. */
import type { NaiveCommit, NaiveFile } from "../support/naive-history.js";

type Random = (below: number) => number;

/** Texts that the grammar of queries does not quote. */
const plain = /^[\p{L}\p{N}_.,;:+=<>#*&%@!? -]+$/u;

/** A query without its repository, in the keyword syntax. */
export function queryFrom(commits: readonly NaiveCommit[], random: Random): string {
  // Conditions on the same commit hold together.
  const commit = pick(random, commits);
  const isOfMessages = random(3) === 0;
  const types = random(12) === 0 ? "type:commit type:diff" : isOfMessages ? "type:commit" : "type:diff";
  const words = new Words(commits, commit, isOfMessages, random);
  const filters = [
    () => `author:${escaped(personPart(commit.author, random))}`,
    () => `-author:${escaped(personPart(pick(random, commits).author, random))}`,
    () => `committer:${escaped(personPart(commit.committer, random))}`,
    () => `before:${commit.committedSeconds + random(2) * random(10_000_000)}`,
    () => `after:${Math.max(10_000, commit.committedSeconds - random(10_000_000))}`,
    () => `message:${escaped(messageWord(commit, random))}`,
    () => `-message:${escaped(messageWord(pick(random, commits), random))}`,
    () => `file:${pathPart(commit.files, random)}`,
    () => `-file:${pathPart(commit.files, random)}`,
    () => `lang:${pick(random, ["c", "go", "python", "shell", "markdown", "perl", "make"])}`,
    () => "case:yes",
    () => `select:commit.diff.${pick(random, ["added", "removed"])}`,
  ];
  // Without parentheses the filters would belong to the last part of an `or`.
  const pattern = words.pattern(2);
  return [
    types,
    pattern === "" ? "" : `(${pattern})`,
    ...filters.filter(() => random(7) === 0).map((filter) => filter()),
  ].join(" ");
}

class Words {
  readonly #commits: readonly NaiveCommit[];
  readonly #commit: NaiveCommit;
  readonly #isOfMessages: boolean;
  readonly #random: Random;

  constructor(commits: readonly NaiveCommit[], commit: NaiveCommit, isOfMessages: boolean, random: Random) {
    this.#commits = commits;
    this.#commit = commit;
    this.#isOfMessages = isOfMessages;
    this.#random = random;
  }

  pattern(depth: number): string {
    const random = this.#random;
    const one = (): string => (depth > 0 && random(3) === 0 ? `(${this.pattern(depth - 1)})` : this.#leaf());
    switch (random(9)) {
      case 0:
        return depth === 2 ? "" : this.#leaf();
      case 1:
      case 2:
        return `${one()} and ${one()}`;
      case 3:
        return `${one()} or ${one()}`;
      case 4:
        return `${one()} and not ${this.#leaf()}`;
      case 5:
        return random(3) === 0 ? `not ${this.#leaf()}` : this.#leaf();
      default:
        return this.#leaf();
    }
  }

  #leaf(): string {
    const random = this.#random;
    const word = this.#word();
    const text = regexpOf(word);
    const forms = [
      () => `/\\b${text}\\b/`,
      () => `/^\\s*${text}/`,
      () => `/${text}$/`,
      () => `/(${text}|${regexpOf(this.#word())})/`,
      () => `/${text}.*${regexpOf(this.#word())}/`,
      () => `/${text}\\w+/`,
      () => `/${text}\\s*[(=:]/`,
      () => `/[A-Z]\\w*${text}/`,
      () => `/^.{0,3}${text}.{0,20}$/`,
    ];
    return random(3) === 0 ? pick(random, forms)() : `"${word}"`;
  }

  /** A word, a part of one, or several. */
  #word(): string {
    const random = this.#random;
    for (let tries = 0; tries < 50; tries++) {
      const commit = random(4) === 0 ? pick(random, this.#commits) : this.#commit;
      const line = this.#isOfMessages ? messageLine(commit, random) : changedLine(commit, random);
      const words = line.split(/[\s"'`()[\]{}/\\|^$~]+/).filter((word) => word !== "");
      if (words.length === 0) continue;
      const at = random(words.length);
      const several = words.slice(at, at + 1 + (random(4) === 0 ? 1 : 0)).join(" ");
      const from = random(5) === 0 ? random(several.length) : 0;
      const text = several.slice(from, random(3) === 0 ? from + 1 + random(several.length) : undefined).slice(0, 40);
      if (plain.test(text) && text.trim() === text && (text.length > 2 || random(6) === 0)) return text;
    }
    return "return";
  }
}

function changedLine({ files }: NaiveCommit, random: Random): string {
  const changed = files.filter(({ lines }) => lines.length > 0);
  if (changed.length === 0) return "";
  const { lines } = pick(random, changed);
  return pick(random, lines).text.toString();
}

function messageLine({ message }: NaiveCommit, random: Random): string {
  return pick(random, message.toString().split("\n"));
}

function messageWord(commit: NaiveCommit, random: Random): string {
  const words = messageLine(commit, random).match(/[\p{L}\p{N}_-]+/gu) ?? ["fix"];
  return pick(random, words);
}

function personPart(person: readonly Buffer[], random: Random): string {
  const words = pick(random, person).toString().split(/\s+/);
  const word = pick(random, words);
  return plain.test(word) ? word : "a";
}

function pathPart(files: readonly NaiveFile[], random: Random): string {
  if (files.length === 0) return "\\.c$";
  const path = pick(random, files).path.toString();
  const [base, folder] = [path.slice(path.lastIndexOf("/") + 1), path.slice(0, path.lastIndexOf("/") + 1)];
  const dot = base.lastIndexOf(".");
  const part = pick(random, [
    `^${escaped(path)}$`,
    escaped(base),
    `^${escaped(folder)}`,
    dot < 0 ? escaped(base) : `${escaped(base.slice(dot))}$`,
  ]);
  return /[\s"']/.test(part) ? "\\.c$" : part;
}

function escaped(text: string): string {
  return regexpOf(text).replaceAll(/["'()]/g, ".");
}

function regexpOf(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[random(items.length)];
}
