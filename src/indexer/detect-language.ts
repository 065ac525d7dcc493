import { isAscii } from "node:buffer";
import { trimEndChars } from "../base/text.js";
import {
  knownExtension,
  languageByName,
  languagesByExtension,
  languagesByFilename,
  languagesByInterpreter,
  type Language,
} from "../model/language.js";
import { TextPattern } from "../regexp/match/text-pattern.js";
import { chooseByHead } from "./language-heuristics.js";

/** A language, and whether the content of a file has no influence on it. */
interface LanguageOfPath {
  readonly language: Language | undefined;
  readonly isCertain: boolean;
}

/** What the path of a file says about its language: by its name, else by the longest known extension. */
export function detectByPath(path: string): LanguageOfPath {
  const candidates = findCandidates(path).languages;
  return { language: candidates[0], isCertain: candidates.length === 1 };
}

/**
 * The language of a file, from its path and what its content says of itself, which is examined only if the path is ambiguous
 * or inconclusive, so most files cost a few look-ups. Only the first `headBytesMax` and the last `tailBytesMax` bytes of the
 * content have an influence; an empty one decides nothing.
 */
export function detectLanguage(path: string, content: Buffer): Language | undefined {
  const { key, languages } = findCandidates(path);
  if (languages.length === 1 || content.length === 0) return languages[0];
  const head = content.subarray(0, headBytesMax);
  return (
    languageOfModeline(content) ??
    (languages.length === 0
      ? (languagesOfShebang(head)[0] ?? (head.indexOf("<?xml") === 0 ? languageByName("XML") : undefined))
      : languageAmong(languages, key, head))
  );
}

/** The languages of a path, most popular first, and the name or extension that they have. */
function findCandidates(path: string): { readonly key: string; readonly languages: readonly Language[] } {
  const filename = path.slice(path.lastIndexOf("/") + 1);
  const named = languagesByFilename(filename);
  if (named !== undefined) return { key: filename, languages: named };
  const extension = knownExtension(filename.toLowerCase()) ?? "";
  return { key: extension, languages: languagesByExtension(extension) ?? [] };
}

function languageAmong(candidates: readonly Language[], key: string, first: Buffer): Language {
  const interpreted = languagesOfShebang(first).find((language) => candidates.includes(language));
  if (interpreted !== undefined) return interpreted;
  // Without a copy where possible: for most files this is most of the work.
  const isPlain = isAscii(first) && !first.includes(carriageReturn);
  const chosen = chooseByHead(key, candidates, isPlain ? first : firstLines(first));
  return candidates.find(({ name }) => name === chosen) ?? candidates[0];
}

/**
 * For example `#!/usr/bin/env -S PYTHONPATH=lib python3.11 -u`: the first word after `env` that is not an option or
 * setting. A script for `sh` may pass itself on to another interpreter: `exec tclsh "$0" "$@"`.
 */
function languagesOfShebang(head: Buffer): readonly Language[] {
  if (head[0] !== hash || head[1] !== exclamationMark) return [];
  const [line, ...others] = head.toString("latin1", 2, shebangBytesMax).split("\n", shebangLines);
  const [program, ...parameters] = line
    .trim()
    .split(/\s+/)
    .map((word) => word.slice(word.lastIndexOf("/") + 1));
  const named = program === "env" ? parameters.find((word) => !/^-|=/.test(word)) : program;
  const passedOn = named === "sh" ? execution.exec(others.join("\n"))?.[1] : undefined;
  for (const interpreter of [passedOn, named, trimEndChars(named ?? "", "-.0123456789")]) {
    const languages = interpreter === undefined ? undefined : languagesByInterpreter(interpreter);
    if (languages !== undefined) return languages;
  }
  return [];
}

const execution = new TextPattern(String.raw`\bexec[ \t]+(?:\S*/)?(\w+)\b.*\$0.*\$[@*]`);

/** As Latin-1, with a line feed at the end of each line, because RE2 recognizes no other line end. */
function firstLines(head: Buffer): string {
  return head.toString("latin1").replaceAll("\r", "\n");
}

/** `-*- mode: ruby -*-`, with possible settings before and after the mode, and `-*- python -*-`. */
const emacsMode = new TextPattern(
  String.raw`-\*-(?:(?:.*[ \t;]|[ \t]*)mode[ \t]*:[ \t]*([^\s;]+?)[ \t]*(?:;.*)?-\*-|[ \t]*([^\s;:]+?)[ \t]*(?:;[^\n:]*)?-\*-[^\n:]*$)`,
  "im",
);
/** `vim: set ft=cpp:`. */
const vimMode = new TextPattern(
  String.raw`(?:^|[ \t])(?:vim?|ex):(?:.*[ \t:])?(?:ft|filetype|syn|syntax)=([\w+#-]+)`,
  "m",
);

/** Editors look for it in the first and in the last lines. */
function languageOfModeline(content: Buffer): Language | undefined {
  const first = content.subarray(0, modelineBytesMax);
  const last = content.subarray(Math.max(modelineBytesMax, content.length - tailBytesMax));
  for (const part of [first, last]) {
    // Most files have none of these, which is found out without copying the text.
    if (!part.includes("-*-") && !part.includes("vi") && !part.includes("ex:")) continue;
    const text = firstLines(part);
    const emacs = emacsMode.exec(text);
    const name = emacs?.[1] || emacs?.[2] || vimMode.exec(text)?.[1];
    const language = name === undefined ? undefined : languageByName(name);
    if (language !== undefined) return language;
  }
  return undefined;
}

const carriageReturn = 0x0d;
const hash = 0x23;
const exclamationMark = 0x21;
/** Maximum number of bytes at the start of a file from which languages are detected. */
export const headBytesMax = 8192;
const shebangBytesMax = 512;
const shebangLines = 5;
const modelineBytesMax = 1024;
/** Number of bytes at the end of a file in which a modeline may be. */
export const tailBytesMax = 512;
