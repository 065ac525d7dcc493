/** True for `name`, false for `-name`, null for `!name`, which is unspecified again, and the text of `name=text`. */
export type AttributeValue = boolean | string | null;

export interface AttributeState {
  readonly name: string;
  readonly value: AttributeValue;
}

/** An attribute by its number. */
export interface NumberedState {
  readonly number: number;
  readonly value: AttributeValue;
}

/**
 * The attributes that are asked for and the macros that may set one of them, by number. Sound: whether any other name is set decides
 * nothing about these.
 */
export class AttributeMacros {
  /** Those that are asked for first, in their order. */
  readonly #numbers: ReadonlyMap<string, number>;
  /** What the macros of these numbers stand for, the last first. */
  readonly #states: readonly (readonly NumberedState[] | undefined)[];
  readonly wanted: readonly string[];
  /** The attributes in macros that matter. */
  readonly stateCount: number;

  constructor(wanted: readonly string[], macros: ReadonlyMap<string, readonly AttributeState[]>) {
    this.wanted = wanted;
    const names = [...addMacros(wanted, macros)];
    this.#numbers = new Map(names.map((name, number) => [name, number]));
    this.#states = names.map((name) => {
      const states = macros.get(name);
      return states && this.numberStates(states);
    });
    this.stateCount = this.#states.reduce((sum, states) => sum + (states?.length ?? 0), 0);
  }

  /** Equal for those that number the same names. */
  get key(): string {
    return [...this.#numbers.keys()].join(" ");
  }

  /** Those that matter, the last first: of several with the same name it counts. */
  numberStates(states: readonly AttributeState[]): readonly NumberedState[] {
    const found = new Map<number, NumberedState>();
    for (let i = states.length - 1; i >= 0; i--) {
      const number = this.#numbers.get(states[i].name);
      if (number !== undefined && !found.has(number)) found.set(number, { number, value: states[i].value });
    }
    return found.size === 0 ? none : [...found.values()];
  }

  /** No attribute has a value. */
  start(): AttributeValues {
    return new AttributeValues(this.wanted, this.#numbers.size, this.#states);
  }
}

const none: readonly NumberedState[] = [];

/** The values that the attributes of a path have. What is found first counts. */
export class AttributeValues {
  readonly #wanted: readonly string[];
  readonly #values: (AttributeValue | undefined)[];
  readonly #macros: readonly (readonly NumberedState[] | undefined)[];
  #leftCount: number;

  constructor(wanted: readonly string[], count: number, macros: readonly (readonly NumberedState[] | undefined)[]) {
    this.#wanted = wanted;
    this.#values = new Array<AttributeValue | undefined>(count).fill(undefined);
    this.#macros = macros;
    this.#leftCount = wanted.length;
  }

  /** Whether nothing can be added about those that are asked for. */
  get isDecided(): boolean {
    return this.#leftCount === 0;
  }

  /** A macro that is set stands for its attributes, before those that follow it; each macro is looked into once. */
  add(states: readonly NumberedState[]): void {
    const lists = [states];
    const positions = [0];
    while (lists.length > 0 && this.#leftCount > 0) {
      const top = lists.length - 1;
      const state = lists[top][positions[top]++] as NumberedState | undefined;
      if (state === undefined) {
        lists.pop();
        positions.pop();
        continue;
      }
      if (this.#values[state.number] !== undefined) continue;
      this.#values[state.number] = state.value;
      if (state.number < this.#wanted.length) this.#leftCount--;
      const macro = state.value === true ? this.#macros[state.number] : undefined;
      if (macro === undefined) continue;
      lists.push(macro);
      positions.push(0);
    }
  }

  /** Those that are asked for. Null stands for one that is explicitly unspecified. */
  named(): ReadonlyMap<string, AttributeValue> {
    const named = new Map<string, AttributeValue>();
    for (const [number, name] of this.#wanted.entries()) {
      const value = this.#values[number];
      if (value !== undefined) named.set(name, value);
    }
    return named;
  }
}

/** The names, and those of all macros that may set one of them. */
function addMacros(
  wanted: readonly string[],
  macros: ReadonlyMap<string, readonly AttributeState[]>,
): ReadonlySet<string> {
  const names = new Set(wanted);
  const users = new Map<string, string[]>();
  for (const [macro, states] of macros) {
    for (const { name } of states) {
      const others = users.get(name);
      if (others === undefined) users.set(name, [macro]);
      else others.push(macro);
    }
  }
  // Names that are added while this goes on are visited too.
  for (const name of names) for (const user of users.get(name) ?? []) names.add(user);
  return names;
}
