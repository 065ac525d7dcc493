import * as linguist from "linguist-languages";
import { chooseByHead } from "./language-heuristics.js";
import { byPopularity } from "./language-popularity.js";

/** A language as linguist knows it. */
export interface Language {
  /** As results show it: `C++`. */
  readonly name: string;
  /** With the leading dot, possibly with more dots inside: `.d.ts`. */
  readonly extensions: readonly string[];
  /** Whole file names: `Makefile`. */
  readonly filenames: readonly string[];
}

interface LinguistLanguage {
  readonly name: string;
  readonly extensions?: readonly string[];
  readonly filenames?: readonly string[];
  readonly aliases?: readonly string[];
  readonly interpreters?: readonly string[];
}

const linguistLanguages: readonly LinguistLanguage[] = Object.values(linguist);
const languages = new Map(linguistLanguages.map(({ name, extensions = [], filenames = [] }) => [name, { name, extensions, filenames }]));

/** Languages by name or alias, by file name, by extension and by interpreter, each with the most popular first. */
const byName = tableOf(({ name, aliases = [] }) => [name, ...aliases], normaliseName);
const byFilename = tableOf(({ filenames = [] }) => filenames, String);
const byExtension = tableOf(({ extensions = [] }) => extensions, (extension) => extension.toLowerCase());
const byInterpreter = tableOf(({ interpreters = [] }) => interpreters, String);
const extensionLengthMax = Math.max(...[...byExtension.keys()].map(({ length }) => length));

function tableOf(keysOf: (language: LinguistLanguage) => readonly string[], normalise: (key: string) => string): Map<string, readonly Language[]> {
  const table = new Map<string, Language[]>();
  for (const source of linguistLanguages) {
    const language = languages.get(source.name);
    if (language === undefined) continue;
    for (const key of new Set(keysOf(source).map(normalise))) {
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

/** The language with this name or alias, in any case; an underscore stands for a blank: `objective_c++`, `golang`. */
export function languageByName(nameOrAlias: string): Language | undefined {
  return byName.get(normaliseName(nameOrAlias))?.[0];
}

/** All names, in the order of linguist's list. */
export function languageNames(): readonly string[] {
  return [...languages.keys()];
}

/**
 * RE2 source that matches the paths of this language, to be used case-insensitively. An extension shared by several
 * languages matches for each of them, which is what `lang:` promises.
 */
export function languagePathRegexp({ extensions, filenames }: Language): string {
  const alternatives = [
    ...extensions.map((extension) => `${escapeRegexp(extension)}$`),
    ...filenames.map((name) => `(^|/)${escapeRegexp(name)}$`),
  ];
  return alternatives.length > 0 ? alternatives.join("|") : matchesNothing;
}

const matchesNothing = String.raw`[^\x00-\x{10FFFF}]`;

function escapeRegexp(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, String.raw`\$&`);
}

/**
 * The language of a file, from its path and the first bytes of its content: by file name, else by the longest known
 * extension, else by its first line. `head` is looked at only when the path leaves a choice or says nothing, so most
 * files cost a few look-ups.
 */
export function detectLanguage(path: string, head: Buffer): Language | undefined {
  const filename = path.slice(path.lastIndexOf("/") + 1);
  const named = byFilename.get(filename);
  if (named !== undefined) return named[0];
  const extension = knownExtension(filename.toLowerCase());
  const candidates = extension === undefined ? undefined : byExtension.get(extension);
  if (extension === undefined || candidates === undefined) return languageOfHead(head);
  if (candidates.length === 1 || head.length === 0) return candidates[0];
  return languageAmong(candidates, extension, head);
}

/** Dots are tried from the left, so the first known extension is the longest. */
function knownExtension(filename: string): string | undefined {
  let dot = filename.indexOf(".", filename.length - extensionLengthMax);
  while (dot >= 0) {
    const extension = filename.slice(dot);
    if (byExtension.has(extension)) return extension;
    dot = filename.indexOf(".", dot + 1);
  }
  return undefined;
}

function languageAmong(candidates: readonly Language[], extension: string, head: Buffer): Language {
  const interpreted = languagesOfShebang(head).find((language) => candidates.includes(language));
  if (interpreted !== undefined) return interpreted;
  const chosen = chooseByHead(extension, candidates, head.toString("latin1"));
  return candidates.find(({ name }) => name === chosen) ?? candidates[0];
}

function languageOfHead(head: Buffer): Language | undefined {
  if (head.length === 0) return undefined;
  return languagesOfShebang(head)[0] ?? languageOfModeline(head) ?? (head.indexOf("<?xml") === 0 ? languageByName("XML") : undefined);
}

/** As in `#!/usr/bin/env -S PYTHONPATH=lib python3.11 -u`: the first word after `env` that is no option or setting. */
function languagesOfShebang(head: Buffer): readonly Language[] {
  if (head[0] !== hash || head[1] !== exclamationMark) return [];
  const [line] = head.toString("latin1", 2, shebangBytesMax).split("\n", 1);
  const [program, ...parameters] = line.trim().split(/\s+/).map((word) => word.slice(word.lastIndexOf("/") + 1));
  const interpreter = program === "env" ? parameters.find((word) => !/^-|=/.test(word)) : program;
  if (interpreter === undefined) return [];
  return byInterpreter.get(interpreter) ?? byInterpreter.get(interpreter.replace(/[-\d.]+$/, "")) ?? [];
}

/** As in `-*- mode: ruby -*-`, `-*- python -*-` and `vim: set ft=cpp:`. */
function languageOfModeline(head: Buffer): Language | undefined {
  const text = head.toString("latin1", 0, modelineBytesMax);
  const emacs = /-\*-(?:.*[ \t;]mode[ \t]*:|[ \t]*mode[ \t]*:|(?![^\n]*:))[ \t]*([^\s;]+?)[ \t]*(?:;.*)?-\*-/i.exec(text);
  const vim = /(?:^|[ \t])(?:vim?|ex):(?:.*[ \t:])?(?:ft|filetype|syn|syntax)=([\w+#-]+)/m.exec(text);
  const name = emacs?.[1] ?? vim?.[1];
  return name === undefined ? undefined : languageByName(name);
}

const hash = 0x23;
const exclamationMark = 0x21;
const shebangBytesMax = 256;
const modelineBytesMax = 1024;
