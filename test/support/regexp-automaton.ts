/**
 * The position automaton (Glushkov) of a JavaScript regular expression: one state for each position in the source that
 * consumes a character. test/support/linear-regexp.ts analyses it.
 *
 * It simplifies, but never has fewer paths than the engine: assertions always succeed, except `^` where a match starts;
 * the body of a lookahead is a branch that ends nowhere; a lookbehind must have a bounded length.
 */
import { RegExpParser, type AST } from "@eslint-community/regexpp";

/** A state: this part of the source has just consumed a character. */
export interface Position {
  readonly raw: string;
  /** The character classes that it consumes, as bits. */
  readonly classes: bigint;
  /** The positions that can follow, and the number of paths to each: 1, or 2 for more than one. */
  readonly next: ReadonlyMap<number, number>;
  /** The rest of the pattern can match the empty text whatever follows: from here on the match is certain. */
  readonly certain: boolean;
}

export interface Automaton {
  readonly positions: readonly Position[];
  /** The positions where a match can start: at the start of the text, after a line terminator, elsewhere. */
  readonly first: {
    readonly text: ReadonlyMap<number, number>;
    readonly line: ReadonlyMap<number, number>;
    readonly other: ReadonlyMap<number, number>;
  };
  readonly classCount: number;
  /** The character classes of line terminators. */
  readonly newlines: bigint;
}

/** A node of the Thompson automaton, before its empty steps are eliminated. */
interface Node {
  /** Steps that always succeed. */
  readonly free: number[];
  /** Steps through an assertion. */
  readonly guarded: number[];
  /** Steps through `^`. */
  readonly atStart: number[];
  position: number | undefined;
}

/** More than any pattern of this project has. Larger patterns are not analysed. */
const positionsMax = 700;
const emptyPathsMax = 20_000;

export class Unsupported extends Error {}

export function automatonOf(source: string, flags: string): Automaton {
  const tree = new RegExpParser({ ecmaVersion: 2024 }).parsePattern(source, 0, source.length, {
    unicode: flags.includes("u"),
    unicodeSets: flags.includes("v"),
  });
  const built = new Thompson(tree);
  const alphabet = classesOf(built.raws, source, flags.replace(/[gym]/g, ""));
  const closure = (from: number, startHolds: boolean) => built.closure(from, startHolds);
  const multiline = flags.includes("m");
  const positions = built.raws.map((raw, at): Position => {
    const { next, certain } = closure(built.afterPosition[at] ?? 0, multiline);
    return { raw, classes: alphabet.masks[at] ?? 0n, next, certain };
  });
  const text = closure(built.start, true).next;
  const other = closure(built.start, false).next;
  return {
    positions,
    first: { text, line: multiline ? text : other, other },
    classCount: alphabet.count,
    newlines: alphabet.newlines,
  };
}

class Thompson {
  readonly raws: string[] = [];
  readonly afterPosition: number[] = [];
  readonly start: number;
  readonly #nodes: Node[] = [];
  readonly #accept: number;

  constructor(tree: AST.Pattern) {
    this.start = this.#node();
    this.#accept = this.#alternatives(tree.alternatives, this.start);
  }

  /** The positions reachable through a node's empty steps, and whether the end is reachable without an assertion. */
  closure(
    from: number,
    startHolds: boolean,
  ): { readonly next: ReadonlyMap<number, number>; readonly certain: boolean } {
    const next = new Map<number, number>();
    const onPath = new Set<number>();
    let [certain, pathCount] = [false, 0];
    const visit = (at: number, isFree: boolean) => {
      if (onPath.has(at)) return;
      if (++pathCount > emptyPathsMax) throw new Unsupported("too many empty paths");
      const { free, guarded, atStart, position } = this.#at(at);
      if (at === this.#accept && isFree) certain = true;
      if (position !== undefined) next.set(position, Math.min(2, (next.get(position) ?? 0) + 1));
      onPath.add(at);
      for (const to of free) visit(to, isFree);
      for (const to of [...guarded, ...(startHolds ? atStart : [])]) visit(to, false);
      onPath.delete(at);
    };
    visit(from, true);
    return { next, certain };
  }

  #node(): number {
    return this.#nodes.push({ free: [], guarded: [], atStart: [], position: undefined }) - 1;
  }

  #at(at: number): Node {
    const node = this.#nodes[at];
    if (node === undefined) throw new Error(`no node ${at}`);
    return node;
  }

  #alternatives(alternatives: readonly AST.Alternative[], from: number): number {
    const end = this.#node();
    for (const { elements } of alternatives) {
      const entry = this.#node();
      this.#at(from).free.push(entry);
      this.#at(elements.reduce((at, element) => this.#element(element, at), entry)).free.push(end);
    }
    return end;
  }

  #element(element: AST.Element, from: number): number {
    switch (element.type) {
      case "Group":
        if (element.modifiers) throw new Unsupported("a group with flags of its own");
        return this.#alternatives(element.alternatives, from);
      case "CapturingGroup":
        return this.#alternatives(element.alternatives, from);
      case "Quantifier":
        return this.#quantifier(element, from);
      case "Assertion":
        return this.#assertion(element, from);
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
        return this.#character(element.raw, from);
      default:
        throw new Unsupported(element.type);
    }
  }

  #character(raw: string, from: number): number {
    if (this.raws.length === positionsMax) throw new Unsupported(`more than ${positionsMax} positions`);
    const [before, after] = [this.#node(), this.#node()];
    this.#at(from).free.push(before);
    this.#at(before).position = this.raws.push(raw) - 1;
    this.afterPosition.push(after);
    return after;
  }

  #quantifier({ element, min, max }: AST.Quantifier, from: number): number {
    let at = from;
    for (let copy = 0; copy < (max === Infinity ? min - 1 : min); copy++) at = this.#element(element, at);
    if (max === Infinity) return this.#repeat(element, at, min === 0);
    const end = this.#node();
    for (let copy = min; copy < max; copy++) {
      this.#at(at).free.push(end);
      at = this.#element(element, at);
    }
    this.#at(at).free.push(end);
    return end;
  }

  #repeat(element: AST.Element, from: number, mayBeEmpty: boolean): number {
    const [entry, end] = [this.#node(), this.#node()];
    this.#at(from).free.push(entry);
    const after = this.#element(element, entry);
    this.#at(after).free.push(entry, end);
    if (mayBeEmpty) this.#at(from).free.push(end);
    return end;
  }

  #assertion(assertion: AST.Assertion, from: number): number {
    const end = this.#node();
    const isStart = assertion.kind === "start";
    (isStart ? this.#at(from).atStart : this.#at(from).guarded).push(end);
    if (assertion.kind === "lookbehind" && assertion.alternatives.some(({ elements }) => !elements.every(isBounded))) {
      throw new Unsupported("a lookbehind without a bound");
    }
    if (assertion.kind === "lookahead") {
      const entry = this.#node();
      this.#at(from).guarded.push(entry);
      // Its end leads nowhere: the text that it consumed is not part of the match.
      this.#alternatives(assertion.alternatives, entry);
    }
    return end;
  }
}

function isBounded(element: AST.Element): boolean {
  if (element.type === "Quantifier") return element.max < 100 && isBounded(element.element);
  if (element.type === "Group" || element.type === "CapturingGroup")
    return element.alternatives.every(({ elements }) => elements.every(isBounded));
  return true;
}

/** Characters that parts of a pattern may distinguish: Latin letters, spaces, special characters, and its own. */
const usualCharacters: readonly number[] = [
  ...Array.from({ length: 0x250 }, (_, code) => code),
  0x3c3,
  0x5d0,
  0x1680,
  0x2000,
  0x200a,
  0x200b,
  0x2028,
  0x2029,
  0x202f,
  0x205f,
  0x212a,
  0x3000,
  0x4e00,
  0xd800,
  0xdc00,
  0xfeff,
  0xfffd,
];

const takenBy = new Map<string, ReadonlySet<number>>();

/** Characters with the same effect form one class. */
function classesOf(
  raws: readonly string[],
  source: string,
  flags: string,
): { readonly masks: readonly bigint[]; readonly count: number; readonly newlines: bigint } {
  const own = [...source].flatMap((character) =>
    character.charCodeAt(0) < 0x250 ? [] : [-1, 0, 1].map((by) => (character.codePointAt(0) ?? 0) + by),
  );
  const characters = [...new Set([...usualCharacters, ...own])];
  const kinds = [...new Set(raws)].map((raw) => ({ raw, taken: taken(raw, flags, characters) }));
  const classes = new Map<string, number>();
  const masks = new Map(kinds.map(({ raw }) => [raw, 0n]));
  let newlines = 0n;
  for (const code of characters) {
    const isNewline = [0x0a, 0x0d, 0x2028, 0x2029].includes(code);
    const takers = kinds.filter((kind) => kind.taken.has(code));
    const key = `${isNewline}${takers.map(({ raw }) => raw).join("\0")}`;
    const bit = 1n << BigInt(classes.get(key) ?? classes.size);
    classes.set(key, classes.get(key) ?? classes.size);
    for (const { raw } of takers) masks.set(raw, (masks.get(raw) ?? 0n) | bit);
    if (isNewline) newlines |= bit;
  }
  return { masks: raws.map((raw) => masks.get(raw) ?? 0n), count: classes.size, newlines };
}

function taken(raw: string, flags: string, characters: readonly number[]): ReadonlySet<number> {
  const key = `${flags}/${raw}/${characters.length > usualCharacters.length ? characters.slice(usualCharacters.length).join() : ""}`;
  const known = takenBy.get(key);
  if (known !== undefined) return known;
  const pattern = new RegExp(`^(?:${raw})$`, flags);
  const found = new Set(characters.filter((code) => pattern.test(String.fromCodePoint(code))));
  takenBy.set(key, found);
  return found;
}
