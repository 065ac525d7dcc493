/**
 * Decides whether V8 matches a pattern in time linear in the text, for every text.
 *
 * A backtracking engine follows the paths of an automaton one after another, so its work is bounded by the number of
 * paths that read a prefix of the text. That number is bounded by a constant for each prefix unless the automaton has
 *
 * - a state with two different paths back to itself over the same text (exponentially many paths), as in `(a|a)*b`; or
 * - two states p and q, and a text that leads from p to p, from p to q, and from q to q (polynomially many), as in
 *   `a*a*b`: Weber and Seidl, On the degree of ambiguity of finite automata, 1991.
 *
 * A search tries every start, which corresponds to a state p that consumes every character, so `a+b` is quadratic, too.
 * If the rest of the pattern can match the empty text, the match is certain and the engine does not backtrack; such
 * states do not count as q. So `/\s+/` is linear, and `/\s+$/` is not. The model includes searches after a match
 * (`replace`, `split`): it finds patterns that read far ahead and then consume little, such as `/a(a*b)?/g`.
 *
 * Sound but not complete: a pattern may be linear for a reason that this analysis does not consider, such as `\b`.
 */
import { automatonOf, Unsupported, type Automaton } from "./regexp-automaton.js";

/** A state of the search: a position in the pattern, or before a match, after a line terminator or elsewhere. */
interface State {
  readonly name: string;
  readonly classes: bigint;
  readonly next: ReadonlyMap<number, number>;
  readonly certain: boolean;
}

/** The reason why the pattern cannot be shown to be linear; undefined if it can. */
export function whyNotLinear(source: string, flags: string): string | undefined {
  try {
    return ambiguityOf(statesOf(automatonOf(source, flags), flags));
  } catch (error) {
    if (error instanceof Unsupported) return error.message;
    throw error;
  }
}

function statesOf({ positions, first, classCount, newlines }: Automaton, flags: string): State[] {
  const states: State[] = positions.map(({ raw, ...rest }) => ({ name: raw, ...rest }));
  if (flags.includes("y")) return states;
  const all = (1n << BigInt(classCount)) - 1n;
  const [elsewhere, behindNewline] = [states.length, states.length + 1];
  const again = [
    [elsewhere, 1],
    [behindNewline, 1],
  ] as const;
  states.push({
    name: "the search for a start",
    classes: all & ~newlines,
    next: new Map([...first.other, ...again]),
    certain: false,
  });
  states.push({
    name: "the search for a line",
    classes: newlines,
    next: new Map([...first.line, ...again]),
    certain: false,
  });
  return states;
}

function ambiguityOf(states: readonly State[]): string | undefined {
  const loops = componentsOf(states, () => true);
  const uncertainLoops = componentsOf(states, (at) => states[at]?.certain === false);
  for (const loop of uncertainLoops) {
    const at = exponentialState(states, loop);
    if (at !== undefined) return `exponential: ${states[at]?.name} is reached again in two ways`;
  }
  for (const outer of loops) {
    for (const inner of uncertainLoops) {
      const found = polynomialPair(states, outer, inner);
      if (found !== undefined)
        return `polynomial: ${states[found[0]]?.name} and ${states[found[1]]?.name} take the same text`;
    }
  }
  return undefined;
}

/** A state with two different paths back to itself over the same text, within its component. */
function exponentialState(states: readonly State[], loop: ReadonlySet<number>): number | undefined {
  const inLoop = (at: number) => loop.has(at);
  for (const p of loop) {
    const isDouble = [...(states[p]?.next ?? [])].some(([to, ways]) => ways > 1 && loop.has(to));
    const pairs = reachable(states, [p, p], [inLoop, inLoop]);
    // From a pair of different states back to (p, p).
    const apart = [...pairs.values()].filter(([a, b]) => a !== b);
    if (isDouble || apart.some((pair) => reachable(states, pair, [inLoop, inLoop]).has(`${p},${p}`))) return p;
  }
  return undefined;
}

function polynomialPair(
  states: readonly State[],
  outer: ReadonlySet<number>,
  inner: ReadonlySet<number>,
): readonly [number, number] | undefined {
  for (const p of outer) {
    for (const q of inner) {
      if (p === q) continue;
      const leads = reachable(states, [p, p, q], [(at) => outer.has(at), () => true, (at) => inner.has(at)]);
      if (leads.has(`${p},${q},${q}`)) return [p, q];
    }
  }
  return undefined;
}

/**
 * The tuples that are reached from one by reading some text, one character at least, each state staying where it may.
 */
function reachable(
  states: readonly State[],
  from: readonly number[],
  mayBe: readonly ((at: number) => boolean)[],
): Map<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  const waiting = [from];
  for (let tuple = waiting.pop(); tuple !== undefined; tuple = waiting.pop()) {
    for (const next of successors(states, tuple, mayBe)) {
      const key = next.join();
      if (found.has(key)) continue;
      found.set(key, next);
      waiting.push(next);
    }
  }
  return found;
}

/** The tuples after one more character, which all states consume. */
function successors(
  states: readonly State[],
  tuple: readonly number[],
  mayBe: readonly ((at: number) => boolean)[],
): readonly number[][] {
  let partial: { readonly tuple: number[]; readonly classes: bigint }[] = [{ tuple: [], classes: -1n }];
  tuple.forEach((at, index) => {
    partial = partial.flatMap(({ tuple: before, classes }) =>
      [...(states[at]?.next.keys() ?? [])].flatMap((to) => {
        const common = classes & (states[to]?.classes ?? 0n);
        return common !== 0n && mayBe[index]?.(to) === true ? [{ tuple: [...before, to], classes: common }] : [];
      }),
    );
  });
  return partial.map(({ tuple: next }) => next);
}

/** The strongly connected components that contain a cycle, among the states that count (Tarjan). */
function componentsOf(states: readonly State[], counts: (at: number) => boolean): ReadonlySet<number>[] {
  const [order, low, stack, components] = [
    new Map<number, number>(),
    new Map<number, number>(),
    [] as number[],
    [] as Set<number>[],
  ];
  const nextOf = (at: number) => [...(states[at]?.next.keys() ?? [])].filter(counts);
  const visit = (at: number) => {
    order.set(at, order.size);
    low.set(at, order.size - 1);
    stack.push(at);
    for (const to of nextOf(at)) {
      if (!order.has(to)) visit(to);
      if (stack.includes(to)) low.set(at, Math.min(low.get(at) ?? 0, low.get(to) ?? 0));
    }
    if (low.get(at) !== order.get(at)) return;
    const component = new Set(stack.splice(stack.lastIndexOf(at)));
    if (component.size > 1 || nextOf(at).includes(at)) components.push(component);
  };
  states.forEach((_, at) => {
    if (counts(at) && !order.has(at)) visit(at);
  });
  return components;
}
