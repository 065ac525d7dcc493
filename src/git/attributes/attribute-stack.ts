import type { TextPattern } from "../../regexp/match/text-pattern.js";
import { type AttributeRule, wholePath } from "./attribute-file.js";
import type { AttributeMacros, AttributeValue, AttributeValues } from "./attribute-macros.js";

/** Bounds of the rules whose wildcards are compiled together, so that a path that none matches is read once. */
const wildcardsPerBlock = 256;
const wildcardBytesPerBlock = 8 << 10;

/** The `.gitattributes` files of a commit, for some attributes. */
export class AttributeStack {
  /** By directory, without a slash at the end; "" is the root. */
  readonly #blocks = new Map<string, readonly RuleBlock[]>();
  readonly #macros: AttributeMacros;
  /** Lines, and attributes in macros. */
  readonly ruleCount: number;
  /** The total length of the patterns that take a regular expression. */
  readonly wildcardBytes: number;
  /** Attributes in lines. */
  readonly stateCount: number;

  /** `files` by directory: what was parsed for the same numbers. */
  constructor(files: ReadonlyMap<string, readonly AttributeRule[]>, macros: AttributeMacros) {
    this.#macros = macros;
    let ruleCount = macros.stateCount;
    let wildcardBytes = 0;
    let stateCount = 0;
    for (const [directory, rules] of files) {
      if (rules.length === 0) continue;
      this.#blocks.set(directory, intoBlocks(rules.toReversed()));
      ruleCount += rules.length;
      for (const { wildcard, states } of rules) {
        wildcardBytes += wildcard?.byteCount ?? 0;
        stateCount += states.length;
      }
    }
    this.ruleCount = ruleCount;
    this.wildcardBytes = wildcardBytes;
    this.stateCount = stateCount;
  }

  /** Whether no path has any of the attributes. */
  get isEmpty(): boolean {
    return this.#blocks.size === 0;
  }

  /** The attributes of a file, which has one character per byte. Null stands for one that is explicitly unspecified. */
  attributesAt(path: string): ReadonlyMap<string, AttributeValue> {
    if (this.isEmpty) return noValues;
    const values = this.#macros.start();
    for (let end = path.lastIndexOf("/"); ; end = path.lastIndexOf("/", end - 1)) {
      const blocks = this.#blocks.get(path.slice(0, Math.max(0, end)));
      if (blocks !== undefined) {
        const name = path.slice(end + 1);
        for (const block of blocks) {
          block.addTo(values, name);
          if (values.isDecided) return values.named();
        }
      }
      // A path never begins with a slash.
      if (end <= 0) return values.named();
    }
  }
}

const noValues: ReadonlyMap<string, AttributeValue> = new Map();

/** Rules of one file that follow one another. */
class RuleBlock {
  readonly #rules: readonly AttributeRule[];
  readonly #plain: readonly AttributeRule[];
  /** What any of the wildcards matches; null if none matches anything. */
  #union: TextPattern | null | undefined;

  constructor(rules: readonly AttributeRule[]) {
    this.#rules = rules;
    this.#plain = rules.filter(({ wildcard }) => wildcard === undefined);
  }

  /** Adds the attributes of the lines that match. */
  addTo(values: AttributeValues, path: string): void {
    const rules = this.#plain.length < this.#rules.length && this.#mayMatch(path) ? this.#rules : this.#plain;
    for (const rule of rules) {
      if (!rule.matches(path)) continue;
      values.add(rule.states);
      if (values.isDecided) return;
    }
  }

  #mayMatch(path: string): boolean {
    if (this.#union === undefined) this.#union = compileUnion(this.#rules);
    return this.#union?.test(path) ?? false;
  }
}

function compileUnion(rules: readonly AttributeRule[]): TextPattern | null {
  const sources = rules.map(({ wildcard }) => wildcard?.source()).filter((source) => source !== undefined);
  return sources.length === 0 ? null : wholePath(sources);
}

function intoBlocks(rules: readonly AttributeRule[]): RuleBlock[] {
  const blocks: RuleBlock[] = [];
  let rulesInBlock: AttributeRule[] = [];
  let count = 0;
  let bytes = 0;
  for (const rule of rules) {
    const own = rule.wildcard?.byteCount ?? 0;
    if (own > 0 && (count === wildcardsPerBlock || (count > 0 && bytes + own > wildcardBytesPerBlock))) {
      blocks.push(new RuleBlock(rulesInBlock));
      rulesInBlock = [];
      count = bytes = 0;
    }
    rulesInBlock.push(rule);
    if (own > 0) count++;
    bytes += own;
  }
  blocks.push(new RuleBlock(rulesInBlock));
  return blocks;
}
