import { BoundedMap } from "../../base/bounded-map.js";
import { withCrlfEnds } from "../analysis/line-ends.js";
import { foldedVariants, namedClassHasNewline, rangesHold } from "../syntax/class-names.js";
import { parseRegexp } from "../syntax/parse.js";
import type { ClassNode, LiteralNode, Regexp } from "../syntax/syntax.js";

/**
 * Rules out texts in which a regexp has no match, six times as fast as RE2 finds that out. It may accept texts without one: RE2
 * decides. Anchors and word boundaries are assumed to hold, and a character outside ASCII in a class is any bytes outside it.
 */
export interface Automaton {
  /**
   * For each state, the state after each byte. State 0 is the first; the last one is reached at the end of a possible match, and
   * never left.
   */
  readonly table: Uint16Array;
  /** Whether each line is a text of its own, since no match extends over lines. */
  readonly byLine: boolean;
}

/** More states do not fit into the second-level cache of a processor, beside the text. */
const statesMax = 512;

/** Limits of the construction, which take 20 ms: positions in the regexp, and steps. */
const positionsMax = 400;
const stepsMax = 4_000_000;

const cacheBytesMax = 4 * 1024 * 1024;
const entryBytes = 512;

/** By source, with what it depends on; undefined inside for a regexp that has no automaton. */
const cache = new BoundedMap<string, { readonly automaton: Automaton | undefined }>(
  cacheBytesMax,
  ({ automaton }) => entryBytes + (automaton?.table.byteLength ?? 0),
);

/** The automaton of what `compileTextRegexp` matches; undefined if it would be too large, or accept every text. */
export function findAutomaton(source: string, foldCase: boolean, byLine: boolean): Automaton | undefined {
  const key = `${Number(foldCase)}${Number(byLine)}${source}`;
  let entry = cache.get(key);
  if (entry === undefined) {
    entry = { automaton: makeAutomaton(source, foldCase, byLine) };
    cache.set(key, entry);
  }
  return entry.automaton;
}

function makeAutomaton(source: string, foldCase: boolean, byLine: boolean): Automaton | undefined {
  const typed = parseRegexp(source, foldCase);
  const withCrlf = withCrlfEnds(typed);
  const tree: Regexp = withCrlf === undefined ? typed : { kind: "alternate", children: [typed, withCrlf] };
  try {
    const table = new Construction(tree, byLine).table();
    return table === undefined ? undefined : { table, byLine };
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
    throw error;
  }
}

class TooLarge extends Error {}

const newline = 10;
const firstHighByte = 0x80;

/** Bytes, as one bit each. */
type ByteSet = Uint32Array;

function byteSet(has: (byte: number) => boolean): ByteSet {
  const set = new Uint32Array(8);
  for (let byte = 0; byte < 256; byte++) if (has(byte)) set[byte >>> 5] |= 1 << (byte & 31);
  return set;
}

function holds(set: ByteSet, byte: number): boolean {
  return ((set[byte >>> 5] >>> (byte & 31)) & 1) === 1;
}

function includes(larger: ByteSet, smaller: ByteSet): boolean {
  return smaller.every((word, i) => (word & ~larger[i]) === 0);
}

const highBytes = byteSet((byte) => byte >= firstHighByte);

/** What may come next: positions, and whether a match may end here. */
interface Follow {
  readonly positions: readonly number[];
  readonly accepts: boolean;
}

const matched: Follow = { positions: [], accepts: true };

function either(a: Follow, b: Follow): Follow {
  return {
    positions: b.positions.length === 0 ? a.positions : [...new Set([...a.positions, ...b.positions])],
    accepts: a.accepts || b.accepts,
  };
}

/**
 * Makes a non-deterministic automaton without empty transitions, from the end of the regexp to its beginning, and from that a
 * deterministic one by the subset construction. A position is dropped from a subset if another one in it simulates it, that is,
 * leads to every match to which it leads: `[a-z]{9}` has ten states, and not 512.
 */
class Construction {
  /** By position: the bytes that it takes, and what follows. */
  readonly #sets: ByteSet[] = [];
  readonly #follows: Follow[] = [];
  readonly #first: Follow;
  readonly #byLine: boolean;
  /** A match can begin only where a line does. */
  readonly #isAnchored: boolean;
  #stepsLeft = stepsMax;

  constructor(tree: Regexp, byLine: boolean) {
    this.#byLine = byLine;
    this.#isAnchored = byLine && beginsLine(tree);
    this.#first = this.#before(tree, matched);
  }

  /** Undefined if every text is accepted. */
  table(): Uint16Array | undefined {
    if (this.#first.accepts) return undefined;
    const simulates = this.#findSimulation();
    const classOf = this.#findClasses();
    const classCount = Math.max(...classOf) + 1;
    const sample = Array.from({ length: classCount }, (_, number) => classOf.indexOf(number));
    const start = this.#reduced(this.#first.positions, simulates);
    const subsets = [start];
    const numbers = new Map([[String(start), 0]]);
    const rows: Int32Array[] = [];
    for (let state = 0; state < subsets.length; state++) {
      rows.push(Int32Array.from(sample, (byte) => this.#step(subsets[state], byte, simulates, subsets, numbers)));
    }
    const last = subsets.length;
    const table = new Uint16Array(256 * (last + 1)).fill(last);
    for (const [state, row] of rows.entries())
      for (let byte = 0; byte < 256; byte++)
        table[256 * state + byte] = row[classOf[byte]] < 0 ? last : row[classOf[byte]];
    return table;
  }

  /** The number of the state after `byte`; -1 for a match. */
  #step(
    subset: readonly number[],
    byte: number,
    simulates: Uint8Array,
    subsets: (readonly number[])[],
    numbers: Map<string, number>,
  ): number {
    if (this.#byLine && byte === newline) return 0;
    let next: Follow = this.#isAnchored ? { positions: [], accepts: false } : this.#first;
    for (const position of subset) {
      if (!holds(this.#sets[position], byte)) continue;
      next = either(next, this.#follows[position]);
      this.#spend(next.positions.length);
      if (next.accepts) return -1;
    }
    const reduced = this.#reduced(next.positions, simulates);
    const key = String(reduced);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    if (subsets.length + 1 >= statesMax) throw new TooLarge();
    numbers.set(key, subsets.length);
    return subsets.push(reduced) - 1;
  }

  #spend(steps: number): void {
    this.#stepsLeft -= steps + 1;
    if (this.#stepsLeft < 0) throw new TooLarge();
  }

  /** The positions without those that another one of them simulates, in order. */
  #reduced(positions: readonly number[], simulates: Uint8Array): readonly number[] {
    const count = this.#sets.length;
    this.#spend(positions.length ** 2);
    return positions
      .filter(
        (q) =>
          !positions.some(
            (p) => p !== q && simulates[p * count + q] === 1 && (simulates[q * count + p] === 0 || p < q),
          ),
      )
      .sort((a, b) => a - b);
  }

  /**
   * Byte p * n + q is 1 if position p takes all that position q takes, and then the same holds for some of what follows. The greatest
   * such relation, found by removing pairs until none has to be.
   */
  #findSimulation(): Uint8Array {
    const count = this.#sets.length;
    const simulates = new Uint8Array(count * count);
    for (let p = 0; p < count; p++) {
      for (let q = 0; q < count; q++) {
        this.#spend(0);
        const isFirst =
          includes(this.#sets[p], this.#sets[q]) && (this.#follows[p].accepts || !this.#follows[q].accepts);
        simulates[p * count + q] = Number(isFirst);
      }
    }
    for (let hasChanged = true; hasChanged; ) {
      hasChanged = false;
      for (let p = 0; p < count; p++) {
        if (this.#follows[p].accepts) continue;
        for (let q = 0; q < count; q++) {
          if (p === q || simulates[p * count + q] === 0) continue;
          const of = this.#follows[p].positions;
          const all = this.#follows[q].positions.every((after) => {
            this.#spend(of.length);
            return of.some((one) => simulates[one * count + after] === 1);
          });
          if (all) continue;
          simulates[p * count + q] = 0;
          hasChanged = true;
        }
      }
    }
    return simulates;
  }

  /** For each byte, the number of its class: bytes of one class are in the same sets. */
  #findClasses(): readonly number[] {
    const sets = [...new Map(this.#sets.map((set) => [String(set), set])).values()];
    const numbers = new Map<string, number>();
    return Array.from({ length: 256 }, (_, byte) => {
      const key = `${Number(byte === newline)}${sets.map((set) => Number(holds(set, byte))).join("")}`;
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      return number;
    });
  }

  #add(set: ByteSet, follow: Follow): number {
    if (this.#sets.length >= positionsMax) throw new TooLarge();
    this.#spend(follow.positions.length);
    this.#follows.push(follow);
    return this.#sets.push(set) - 1;
  }

  #one(set: ByteSet, follow: Follow): Follow {
    return { positions: [this.#add(set, follow)], accepts: false };
  }

  /** What may come where `tree` begins, if `after` may come where it ends. */
  #before(tree: Regexp, after: Follow): Follow {
    switch (tree.kind) {
      case "empty":
      case "anchor":
        return after;
      case "literal":
        return this.#beforeLiteral(tree, after);
      case "class":
        return this.#beforeCharacter((byte) => classHolds(tree, byte), classHasHigh(tree), after);
      case "any":
        return this.#beforeCharacter((byte) => tree.newline || byte !== newline, true, after);
      case "concat":
        return tree.children.reduceRight((follow, child) => this.#before(child, follow), after);
      case "alternate":
        return tree.children.map((child) => this.#before(child, after)).reduce(either);
      case "repeat":
        return this.#beforeRepeat(tree.child, tree.min, tree.max, after);
    }
  }

  #beforeRepeat(child: Regexp, min: number, max: number, after: Follow): Follow {
    let follow = after;
    if (max === Infinity) follow = this.#beforeLoop(child, after);
    else for (let i = min; i < max; i++) follow = either(this.#before(child, follow), after);
    for (let i = 0; i < min; i++) follow = this.#before(child, follow);
    return follow;
  }

  /** Any number of times. What may end the child has all of `after` behind it; it may also be followed by the child again. */
  #beforeLoop(child: Regexp, after: Follow): Follow {
    const from = this.#sets.length;
    const again = either(this.#before(child, after), after);
    for (let position = from; position < this.#sets.length; position++) {
      const follow = this.#follows[position];
      if (this.#hasAll(follow, after)) this.#follows[position] = either(follow, again);
    }
    return again;
  }

  #hasAll(follow: Follow, wanted: Follow): boolean {
    this.#spend(follow.positions.length);
    return (
      (follow.accepts || !wanted.accepts) && wanted.positions.every((position) => follow.positions.includes(position))
    );
  }

  #beforeLiteral({ text, fold }: LiteralNode, after: Follow): Follow {
    return Array.from(text).reduceRight((follow, character) => {
      const variants = fold ? foldedTogether(character) : [character];
      const ascii = variants.filter((variant) => variant <= "\x7f").map((variant) => variant.charCodeAt(0));
      if (variants.length === 1 && ascii.length === 0) return this.#beforeBytes(Buffer.from(character), follow);
      return this.#beforeCharacter((byte) => ascii.includes(byte), ascii.length < variants.length, follow);
    }, after);
  }

  #beforeBytes(bytes: Uint8Array, after: Follow): Follow {
    return bytes.reduceRight<Follow>(
      (follow, byte) =>
        this.#one(
          byteSet((one) => one === byte),
          follow,
        ),
      after,
    );
  }

  /** One of these characters in ASCII or, with `hasHigh`, any bytes outside it. */
  #beforeCharacter(isIn: (byte: number) => boolean, hasHigh: boolean, after: Follow): Follow {
    const ascii = byteSet((byte) => byte < firstHighByte && isIn(byte));
    const follow = ascii.some((word) => word !== 0) ? this.#one(ascii, after) : { positions: [], accepts: false };
    if (!hasHigh) return follow;
    const position = this.#add(highBytes, after);
    this.#follows[position] = either(after, { positions: [position], accepts: false });
    return either(follow, { positions: [position], accepts: false });
  }
}

/** The characters that fold together with this one: all in ASCII, and one outside it if there is one. */
function foldedTogether(character: string): readonly string[] {
  const variants = foldedVariants(character);
  if (variants !== undefined) return variants;
  const inAscii = ["k", "s"].map((letter) => foldedVariants(letter) ?? []).find((all) => all.includes(character));
  return inAscii ?? [character, character];
}

/** Whether each match begins where a line does. */
function beginsLine(tree: Regexp): boolean {
  if (tree.kind === "anchor") return tree.at === "line-start";
  if (tree.kind === "concat") return beginsLine(tree.children[0]);
  return tree.kind === "alternate" && tree.children.every(beginsLine);
}

/** Whether the class may have this character of ASCII. */
function classHolds({ ranges, named, negated, fold }: ClassNode, code: number): boolean {
  const character = String.fromCharCode(code);
  const codes = fold ? [character.toLowerCase().charCodeAt(0), character.toUpperCase().charCodeAt(0)] : [code];
  const isSpelled = codes.some((one) => rangesHold(ranges, one)) || (fold && foldsFromOutside(character, ranges));
  // What a name stands for is not looked up: but for a newline, it may have the character or not.
  if (code === newline) return (isSpelled || named.some(namedClassHasNewline)) !== negated;
  return negated ? !isSpelled : isSpelled || named.length > 0;
}

function foldsFromOutside(character: string, ranges: readonly number[]): boolean {
  const variants = foldedVariants(character) ?? [];
  return variants.some((variant) => variant > "\x7f" && rangesHold(ranges, variant.codePointAt(0) ?? 0));
}

/** Whether the class may have a character outside ASCII. */
function classHasHigh({ ranges, named, negated, fold }: ClassNode): boolean {
  if (negated || named.length > 0) return true;
  if (ranges.some((code) => code >= firstHighByte)) return true;
  return fold && ["k", "K", "s", "S"].some((letter) => rangesHold(ranges, letter.charCodeAt(0)));
}
