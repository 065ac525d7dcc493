import { readFileSync } from "node:fs";
import { lazy } from "../base/lazy.js";
import { byPopularity } from "./language-popularity.js";

/** A language as linguist knows it. */
export interface Language {
  /** The display name: `C++`. */
  readonly name: string;
  /** With the leading dot, possibly with more dots inside: `.d.ts`. */
  readonly extensions: readonly string[];
  /** Whole file names: `Makefile`. */
  readonly filenames: readonly string[];
}

interface LinguistLanguage extends Language {
  readonly aliases: readonly string[];
  readonly interpreters: readonly string[];
}

function readTable(text: string): readonly LinguistLanguage[] {
  const rows = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return rows.map((row) => {
    const [name = "", ...lists] = row.split("\t");
    const [extensions = [], filenames = [], aliases = [], interpreters = []] = lists.map((list) =>
      list === "" ? [] : list.split(","),
    );
    return { name, extensions, filenames, aliases, interpreters };
  });
}

/** Languages by name or alias, by file name, by extension and by interpreter, each with the most popular first. */
interface Languages {
  /** In linguist's order. */
  readonly names: readonly string[];
  readonly byName: Lookup;
  readonly byFilename: Lookup;
  readonly byExtension: Lookup;
  readonly byInterpreter: Lookup;
  /** In UTF-16 code units. */
  readonly extensionLengthMax: number;
}

type Lookup = ReadonlyMap<string, readonly Language[]>;

/** Read when they are first needed, which they are not in each thread and command. */
const languages = lazy(readLanguages);

/**
 * The table is next to the sources, because the compiler does not copy it. The package from which it is generated has a
 * module for each language: loading them took 0.2 s of CPU time in each thread, and reading the table takes 3 ms.
 */
function readLanguages(): Languages {
  const rows = readTable(readFileSync(new URL("../../../src/model/languages.tsv", import.meta.url), "utf8"));
  const known = new Map(rows.map(({ name, extensions, filenames }) => [name, { name, extensions, filenames }]));
  const lookup = (keysOf: (language: LinguistLanguage) => readonly string[]): Lookup =>
    buildLookup(rows, known, keysOf);
  const byExtension = lookup(({ extensions }) => extensions.map((extension) => extension.toLowerCase()));
  return {
    names: [...known.keys()],
    byName: lookup(({ name, aliases }) => [name, ...aliases].map(normaliseName)),
    byFilename: lookup(({ filenames }) => filenames),
    byExtension,
    byInterpreter: lookup(({ interpreters }) => interpreters),
    extensionLengthMax: Math.max(...[...byExtension.keys()].map(({ length }) => length)),
  };
}

/** In UTF-16 code units; longer than any name. */
const nameLengthMax = 200;

function buildLookup(
  rows: readonly LinguistLanguage[],
  known: ReadonlyMap<string, Language>,
  keysOf: (language: LinguistLanguage) => readonly string[],
): Lookup {
  const table = new Map<string, Language[]>();
  for (const source of rows) {
    const language = known.get(source.name);
    if (language === undefined) continue;
    for (const key of new Set(keysOf(source))) {
      const others = table.get(key);
      if (others === undefined) table.set(key, [language]);
      else others.push(language);
    }
  }
  for (const [key, candidates] of table) if (candidates.length > 1) candidates.sort(byPopularity(key));
  return table;
}

function normaliseName(name: string): string {
  return name.trim().toLowerCase().replaceAll("_", " ");
}

/** The language with this name or alias, ignoring case; an underscore stands for a space: `objective_c++`, `golang`. */
export function languageByName(nameOrAlias: string): Language | undefined {
  return nameOrAlias.length > nameLengthMax ? undefined : languages().byName.get(normaliseName(nameOrAlias))?.[0];
}

/** All names, in linguist's order. */
export function languageNames(): readonly string[] {
  return languages().names;
}

/** The languages of a file name, most popular first. */
export function languagesByFilename(filename: string): readonly Language[] | undefined {
  return languages().byFilename.get(filename);
}

/** The languages of an extension, including its dot, in lower case; most popular first. */
export function languagesByExtension(extension: string): readonly Language[] | undefined {
  return languages().byExtension.get(extension);
}

/** The languages of an interpreter named after `#!`, most popular first. */
export function languagesByInterpreter(interpreter: string): readonly Language[] | undefined {
  return languages().byInterpreter.get(interpreter);
}

/** The longest known extension of a file name in lower case, trying dots from the left. */
export function knownExtension(filename: string): string | undefined {
  const { byExtension, extensionLengthMax } = languages();
  let dot = filename.indexOf(".", filename.length - extensionLengthMax);
  while (dot >= 0) {
    const extension = filename.slice(dot);
    if (byExtension.has(extension)) return extension;
    dot = filename.indexOf(".", dot + 1);
  }
  return undefined;
}
