import { TrawlError } from "../../base/errors.js";
import { trimEndChars } from "../../base/text.js";

/** Limit on the size of a `.gitmodules` file. 10,000 submodules take about 1 MiB. */
export const submodulesBytesMax = 1 << 20;

export const submodulesPath = ".gitmodules";

/** What `.gitmodules` says of the submodule at a path. */
export interface SubmoduleSettings {
  /** As written; undefined if there is none, or one that git ignores. */
  readonly url: string | undefined;
  /** False with `update = none`: git then does not check it out. */
  readonly isUpdated: boolean;
}

interface Setting {
  /** In lower case; "" before the first section. */
  readonly section: string;
  readonly subsection: string | undefined;
  /** In lower case. */
  readonly key: string;
  /** Undefined if there is no `=`. */
  readonly value: string | undefined;
}

/**
 * The submodules that `.gitmodules` names, by path, as `git submodule update --init` reads it: the last setting counts, and of
 * two submodules at one path the one that got it last. Names with `..`, and paths and URLs like options of a command, are ignored. Text in and out has one
 * character per byte. Throws `git` if git would not read the file.
 */
export function parseSubmodules(text: string): Map<string, SubmoduleSettings> {
  const byName = new Map<string, { path: string | undefined; url: string | undefined; isUpdated: boolean }>();
  const byPath = new Map<string, string>();
  for (const { section, subsection: name, key, value } of parseConfig(text)) {
    if (section !== "submodule" || name === undefined || isSuspicious(name)) continue;
    const known = byName.get(name) ?? { path: undefined, url: undefined, isUpdated: true };
    byName.set(name, known);
    if (value === undefined) continue;
    if (key === "update") known.isUpdated = value !== "none";
    if (value.startsWith("-")) continue;
    if (key === "url") known.url = value;
    if (key !== "path") continue;
    if (known.path !== undefined && byPath.get(known.path) === name) byPath.delete(known.path);
    known.path = value;
    byPath.set(value, name);
  }
  return new Map(
    [...byPath].map(([path, name]) => {
      const { url, isUpdated = true } = byName.get(name) ?? {};
      return [path, { url: url === "" ? undefined : url, isUpdated }];
    }),
  );
}

/** As git's `check_submodule_name`. */
function isSuspicious(name: string): boolean {
  return name === "" || name.split(/[/\\]/).includes("..");
}

/** The settings of a text in the format of git's configuration, of one character per byte. Throws `git` where git stops with an error. */
export function parseConfig(text: string): Setting[] {
  return new ConfigReader(text).read();
}

/** Reads as `git_parse_source` does: one character after the other. */
class ConfigReader {
  readonly #text: string;
  #at: number;
  #line = 1;

  constructor(text: string) {
    this.#text = text.replaceAll("\r\n", "\n");
    this.#at = this.#text.startsWith("\u00ef\u00bb\u00bf") ? 3 : 0;
  }

  read(): Setting[] {
    const settings: Setting[] = [];
    let section: { name: string; subsection: string | undefined } = { name: "", subsection: undefined };
    while (this.#at < this.#text.length) {
      const character = this.#next();
      if (isSpace(character)) continue;
      if (character === "#" || character === ";") this.#skipLine();
      else if (character === "[") section = this.#readSection();
      else if (/[A-Za-z]/.test(character)) {
        const [key, value] = this.#readSetting(character);
        settings.push({ section: section.name, subsection: section.subsection, key, value });
      } else throw this.#error();
    }
    return settings;
  }

  /** At the end of the text, the line ends. */
  #next(): string {
    const character = this.#at < this.#text.length ? this.#text[this.#at] : "\n";
    this.#at++;
    if (character === "\n") this.#line++;
    return character;
  }

  #skipLine(): void {
    while (this.#next() !== "\n");
  }

  #readSection(): { name: string; subsection: string | undefined } {
    let name = "";
    for (;;) {
      const character = this.#next();
      if (character === "]") {
        const dot = name.indexOf(".");
        return dot < 0
          ? { name, subsection: undefined }
          : { name: name.slice(0, dot), subsection: name.slice(dot + 1) };
      }
      if (isSpace(character)) return { name, subsection: this.#readSubsection(character) };
      if (!isKeyCharacter(character) && character !== ".") throw this.#error();
      name += character.toLowerCase();
    }
  }

  #readSubsection(first: string): string {
    let character = first;
    do {
      if (character === "\n") throw this.#error();
      character = this.#next();
    } while (isSpace(character));
    if (character !== '"') throw this.#error();
    const parts: string[] = [];
    for (;;) {
      character = this.#next();
      if (character === '"') break;
      if (character === "\\") character = this.#next();
      if (character === "\n") throw this.#error();
      parts.push(character);
    }
    if (this.#next() !== "]") throw this.#error();
    return parts.join("");
  }

  #readSetting(first: string): [key: string, value: string | undefined] {
    let key = first;
    let character = this.#next();
    for (; isKeyCharacter(character); character = this.#next()) key += character;
    while (character === " " || character === "\t") character = this.#next();
    if (character === "\n") return [key.toLowerCase(), undefined];
    if (character !== "=") throw this.#error();
    return [key.toLowerCase(), this.#readValue()];
  }

  #readValue(): string {
    const parts: string[] = [];
    /** The number of parts without the spaces at the end; -1 if there are none. */
    let trimmed = -1;
    let [isQuoted, isComment] = [false, false];
    for (;;) {
      let character = this.#next();
      if (character === "\n") {
        if (isQuoted) throw this.#error();
        return (trimmed < 0 ? parts : parts.slice(0, trimmed)).join("");
      }
      if (isComment) continue;
      if (!isQuoted && isSpace(character)) {
        if (trimmed < 0) trimmed = parts.length;
        if (parts.length > 0) parts.push(character);
        continue;
      }
      if (!isQuoted && (character === ";" || character === "#")) {
        isComment = true;
        continue;
      }
      trimmed = -1;
      if (character === "\\") {
        character = this.#next();
        if (character === "\n") continue;
        const meant = escapes.get(character);
        if (meant === undefined) throw this.#error();
        parts.push(meant);
      } else if (character === '"') isQuoted = !isQuoted;
      else parts.push(character);
    }
  }

  #error(): TrawlError {
    return new TrawlError("git", `${submodulesPath}: line ${this.#line} is not in the format of git's configuration`);
  }
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["t", "\t"],
  ["b", "\b"],
  ["n", "\n"],
  ["\\", "\\"],
  ['"', '"'],
]);

function isSpace(character: string): boolean {
  return character === " " || character === "\t" || character === "\n" || character === "\r";
}

function isKeyCharacter(character: string): boolean {
  return /[A-Za-z0-9-]/.test(character);
}

/**
 * The URL of a submodule, relative to that of the repository which names it, as git resolves it. Throws `bad-config` if it
 * leads above the URL.
 */
export function resolveSubmoduleUrl(base: string, url: string): string {
  if (!/^\.\.?\//.test(url)) return url;
  let [start, rest] = [trimEndChars(base, "/"), url];
  let separator = "/";
  for (;;) {
    if (rest.startsWith("../")) {
      rest = rest.slice(3);
      const slash = start.lastIndexOf("/");
      const cut = slash < 0 ? start.lastIndexOf(":") : slash;
      if (cut < 0)
        throw new TrawlError(
          "bad-config",
          `${JSON.stringify(url)} leads above the URL of the repository that names it`,
        );
      separator = slash < 0 ? ":" : "/";
      start = start.slice(0, cut);
    } else if (rest.startsWith("./")) rest = rest.slice(2);
    else break;
  }
  const resolved = `${start}${separator}${rest}`;
  return resolved.length > 1 && resolved.endsWith("/") ? resolved.slice(0, -1) : resolved;
}
