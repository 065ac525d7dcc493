import type { AttributeFile, AttributeState, AttributeValue } from "./attribute-file.js";

/** The `.gitattributes` files of a commit, for some attributes. */
export class AttributeStack {
  /** By directory, without a slash at the end; "" is the root. Rules that matter, the last line first. */
  readonly #rules = new Map<string, AttributeFile["rules"]>();
  readonly #macros: AttributeFile["macros"];

  /** `files` by directory. */
  constructor(files: ReadonlyMap<string, AttributeFile>, wanted: readonly string[]) {
    this.#macros = files.get("")?.macros ?? new Map();
    const names = addMacros(wanted, this.#macros);
    for (const [directory, { rules }] of files) {
      const relevant = rules.filter(({ states }) => states.some(({ name }) => names.has(name)));
      if (relevant.length > 0) this.#rules.set(directory, relevant.reverse());
    }
  }

  /** Lines that matter. */
  get ruleCount(): number {
    return [...this.#rules.values()].reduce((sum, rules) => sum + rules.length, 0);
  }

  /** Whether no path has any of the attributes. */
  get isEmpty(): boolean {
    return this.#rules.size === 0;
  }

  /** The attributes of a file, which has one character per byte. Null stands for one that is explicitly unspecified. */
  attributesAt(path: string): ReadonlyMap<string, AttributeValue> {
    const values = new Map<string, AttributeValue>();
    if (this.isEmpty) return values;
    for (let end = path.lastIndexOf("/"); ; end = path.lastIndexOf("/", end - 1)) {
      const rules = this.#rules.get(path.slice(0, Math.max(0, end)));
      if (rules !== undefined) {
        const name = path.slice(end + 1);
        for (const { matches, states } of rules) if (matches(name)) this.#fill(states, values);
      }
      // A path never begins with a slash.
      if (end <= 0) return values;
    }
  }

  /** What was found first counts, so the last attribute of a line does. A macro that is set stands for its attributes. */
  #fill(states: readonly AttributeState[], values: Map<string, AttributeValue>): void {
    for (const { name, value } of states.toReversed()) {
      if (values.has(name)) continue;
      values.set(name, value);
      const macro = value === true ? this.#macros.get(name) : undefined;
      if (macro !== undefined) this.#fill(macro, values);
    }
  }
}

/** The names, and those of all macros that may set one of them. */
function addMacros(wanted: readonly string[], macros: AttributeFile["macros"]): ReadonlySet<string> {
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
