import { BoundedMap } from "../../base/bounded-map.js";
import { type AttributeRule, parseAttributeFile, parseMacros } from "../../git/attributes/attribute-file.js";
import { AttributeMacros, type AttributeValue } from "../../git/attributes/attribute-macros.js";
import { AttributeStack } from "../../git/attributes/attribute-stack.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import type { StopSignal } from "../../git/run/run.js";
import { hasGeneratedPath, hasVendoredPath } from "../../model/file-weight.js";
import { languageByName } from "../../model/language.js";
import { documentFlags } from "../../shard/format.js";
import { ignoreBytesMax, type IgnoreFile, ignorePath, parseIgnoreFile } from "./ignore-file.js";
import { makeRules, noRules, type PathRules } from "./path-rules.js";

const attributesName = ".gitattributes";
const attributesNameBytes = Buffer.from(attributesName);
const ignorePathBytes = Buffer.from(ignorePath);
const slash = 47;

/** Bounds of the attributes of a commit: with more, it has none. */
export const attributeFilesMax = 1_000;
export const attributeBytesMax = 1 << 20;
const attributeTotalBytesMax = 4 << 20;
/** Lines, and attributes in macros. */
export const attributeRulesMax = 1_000;
/** Attributes in lines: more than a line needs come of macros that are named there. */
export const attributeStatesMax = 4_000;
/** The patterns that take a regular expression. */
export const wildcardBytesMax = 64 << 10;

/** Of the text of attribute files that a thread keeps in its parsed form. */
const keptBytesMax = 4 << 20;
const keptCommitsMax = 16;

const readSilenceMs = 60_000;

/** The files with rules that a commit has: oids by path, which has one character per byte. */
export type RuleFiles = ReadonlyMap<string, string>;

/** Whether a regular file at this path has rules for others. */
export function isRulePath(path: Buffer): boolean {
  if (path.equals(ignorePathBytes)) return true;
  const from = path.length - attributesNameBytes.length;
  if (from < 0 || (from > 0 && path[from - 1] !== slash)) return false;
  return attributesNameBytes.equals(path.subarray(from));
}

/** The directory whose files a file with rules is about: "" or with a slash at the end. */
export function ruledDirectory(path: string): string {
  return path === ignorePath ? "" : path.slice(0, -attributesName.length);
}

/** Where the files are that have rules for these paths, of one character per byte. */
export function rulePathsAbove(paths: Iterable<string>): string[] {
  const found = new Set([ignorePath, attributesName]);
  for (const path of paths)
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const file = path.slice(0, end + 1) + attributesName;
      if (found.has(file)) break;
      found.add(file);
    }
  return [...found];
}

/** Directories with the bits of branches on which a file with rules for them changes. */
export type RuledDirectories = ReadonlyMap<string, number>;

/** The branches on which the rules for the path may have changed. */
export function ruledMask(ruled: RuledDirectories, path: string): number {
  let mask = ruled.get("") ?? 0;
  for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
    mask |= ruled.get(path.slice(0, end + 1)) ?? 0;
  return mask;
}

const noAttributes = new AttributeStack(new Map(), new AttributeMacros([], new Map()));

/** What a commit's own files say of its other files. */
export class CommitRules {
  readonly #attributes: AttributeStack;
  readonly #ignore: IgnoreFile;
  /** Whether no attribute of the commit has an effect, in whatever directory, because of a limit or a file that cannot be read. */
  readonly areAttributesOff: boolean;
  /** What is wrong with them: `FILE: …`. */
  readonly problems: readonly string[];

  constructor(attributes: AttributeStack | undefined, ignore: IgnoreFile, problems: readonly string[]) {
    this.#attributes = attributes ?? noAttributes;
    this.areAttributesOff = attributes === undefined;
    this.#ignore = ignore;
    this.problems = problems;
  }

  get isEmpty(): boolean {
    return this.#attributes.isEmpty && this.#ignore.isEmpty;
  }

  /** The rules for a regular file. */
  at(path: Buffer): PathRules {
    if (this.isEmpty) return noRules;
    const isIgnored = !this.#ignore.isEmpty && this.#ignore.matches(path.toString());
    const values = this.#attributes.attributesAt(path.toString("latin1"));
    if (values.size === 0) return isIgnored ? onlyIgnored : noRules;
    return makeRules(languageOfValue(values.get("linguist-language")), kindFlags(values, path), isIgnored);
  }
}

export const noCommitRules = new CommitRules(noAttributes, parseIgnoreFile(""), []);

const onlyIgnored = makeRules("", 0, true);

/** An unknown name has no effect. linguist writes a hyphen for a space. */
function languageOfValue(value: AttributeValue | undefined): string {
  if (typeof value !== "string") return "";
  return (languageByName(value) ?? languageByName(value.replaceAll("-", " ")))?.name ?? "";
}

/** If one of the kinds is given, the path decides about the other. */
function kindFlags(values: ReadonlyMap<string, AttributeValue>, path: Buffer): number {
  const generated = isSet(values.get("linguist-generated"));
  const vendored = isSet(values.get("linguist-vendored"));
  if (generated === undefined && vendored === undefined) return 0;
  const lowered = path.toString().toLowerCase();
  const isGenerated = generated ?? hasGeneratedPath(lowered);
  const isVendored = vendored ?? hasVendoredPath(lowered);
  return documentFlags.kinds | (isGenerated ? documentFlags.generated : 0) | (isVendored ? documentFlags.vendored : 0);
}

/** As linguist reads it: `linguist-generated=false` is `-linguist-generated`. */
function isSet(value: AttributeValue | undefined): boolean | undefined {
  return value === undefined || value === null ? undefined : value !== false && value !== "false";
}

/** What a compiled pattern takes for each of its bytes, about. */
const compiledBytesPerByte = 64;

interface KeptFile {
  readonly rules: readonly AttributeRule[];
  readonly byteCount: number;
}

/** The text is kept if there are rules, whose patterns are parts of it. */
function weightOfFile({ rules, byteCount }: KeptFile): number {
  if (rules.length === 0) return 256;
  const compiled = rules.reduce((sum, { wildcard }) => sum + (wildcard?.byteCount ?? 0), 0);
  return 256 + byteCount + 256 * rules.length + compiledBytesPerByte * compiled;
}

/** By what files they were made of. */
const keptRules = new BoundedMap<string, CommitRules>(keptCommitsMax, () => 1);

/** The rules of a commit that has these files, read from its mirror. A file that cannot be read has none. Throws `git`, `cancelled`. */
export async function readCommitRules(mirror: string, files: RuleFiles, stop: StopSignal): Promise<CommitRules> {
  const name = nameOfFiles(files);
  const known = keptRules.get(name);
  if (known !== undefined) return known;
  const read: Reading = { problems: [], isWhole: true };
  const ignore = await readIgnore(mirror, files, read, stop);
  const attributes = await linguistAttributes.read(mirror, files, read, stop);
  const rules = new CommitRules(attributes, ignore, read.problems);
  // Another mirror may have what this one lacks, and so may this one later.
  if (read.isWhole) keptRules.set(name, rules);
  return rules;
}

interface Reading {
  readonly problems: string[];
  /** Whether the mirror has all files. */
  isWhole: boolean;
}

async function readIgnore(mirror: string, files: RuleFiles, read: Reading, stop: StopSignal): Promise<IgnoreFile> {
  const { problems } = read;
  let text = "";
  const oid = files.get(ignorePath);
  if (oid !== undefined)
    await readBlobs(options(mirror, ignoreBytesMax, stop), [oid], (_, outcome) => {
      read.isWhole &&= outcome.kind !== "missing";
      if (outcome.kind === "content") text = outcome.content.toString();
      else problems.push(`${ignorePath}: ${unreadable(outcome.kind, ignoreBytesMax)}: nothing is left out`);
    });
  const ignore = parseIgnoreFile(text);
  problems.push(...ignore.problems.map((problem) => `${ignorePath}: ${problem}`));
  return ignore;
}

/** Reads some attributes of commits, and keeps what is parsed of the files. */
class AttributeReader {
  readonly #wanted: readonly string[];
  readonly #ruleCountMax: number;
  readonly #lines: string;
  readonly #noMacros: AttributeMacros;
  /** By oid and the macros for which they were read. */
  readonly #keptFiles = new BoundedMap<string, KeptFile>(keptBytesMax, weightOfFile);
  /** By the oid of the file in the root. */
  readonly #keptMacros = new BoundedMap<string, AttributeMacros>(16, () => 1);

  /** A commit with more than `ruleCountMax` lines, or attributes in macros, has none. `lines` ends the message that says so. */
  constructor(wanted: readonly string[], ruleCountMax: number, lines: string) {
    this.#wanted = wanted;
    this.#ruleCountMax = ruleCountMax;
    this.#lines = lines;
    this.#noMacros = new AttributeMacros(wanted, new Map());
  }

  /** Undefined if the attributes are off. */
  async read(mirror: string, files: RuleFiles, read: Reading, stop: StopSignal): Promise<AttributeStack | undefined> {
    const ruleCountMax = this.#ruleCountMax;
    const paths = [...files.keys()].filter((path) => path !== ignorePath);
    const give = (problem: string): undefined => {
      read.problems.push(`${attributesName}: ${problem}: attributes have no effect`);
    };
    if (paths.length > attributeFilesMax) return give(`more than ${attributeFilesMax} files`);
    const tooManyRules = `more than ${ruleCountMax} lines for ${this.#lines}`;
    const macros = await this.#readMacros(mirror, files.get(attributesName), stop);
    if (macros === undefined) return give(tooManyRules);
    const byDirectory = new Map<string, readonly AttributeRule[]>();
    const unknown: string[] = [];
    const keyOf = (path: string): string => `${files.get(path)} ${macros.key}`;
    let byteCount = 0;
    for (const path of paths) {
      const kept = this.#keptFiles.get(keyOf(path));
      if (kept === undefined) unknown.push(path);
      else byDirectory.set(directoryName(path), kept.rules);
      byteCount += kept?.byteCount ?? 0;
    }
    let unread: string | undefined;
    const oids = unknown.map((path) => files.get(path) ?? "");
    await readBlobs(options(mirror, attributeBytesMax, stop), oids, (index, outcome) => {
      const path = unknown[index];
      read.isWhole &&= outcome.kind !== "missing";
      if (outcome.kind !== "content") {
        unread = `${Buffer.from(path, "latin1").toString()} ${unreadable(outcome.kind, attributeBytesMax)}`;
        return;
      }
      byteCount += outcome.content.length;
      if (byteCount > attributeTotalBytesMax) return;
      const rules = parseAttributeFile(outcome.content.toString("latin1"), macros, ruleCountMax, stop);
      this.#keptFiles.set(keyOf(path), { rules, byteCount: outcome.content.length });
      byDirectory.set(directoryName(path), rules);
    });
    if (unread !== undefined) return give(unread);
    if (byteCount > attributeTotalBytesMax) return give(`more than ${attributeTotalBytesMax >> 20} MiB`);
    const stack = new AttributeStack(byDirectory, macros);
    if (stack.ruleCount > ruleCountMax) return give(tooManyRules);
    if (stack.stateCount > attributeStatesMax) return give(`more than ${attributeStatesMax} attributes in lines`);
    if (stack.wildcardBytes > wildcardBytesMax)
      return give(`more than ${wildcardBytesMax >> 10} KiB of patterns with wildcards`);
    return stack;
  }

  /** Those of the file in the root, none if it cannot be read; undefined if they have too many attributes. */
  async #readMacros(mirror: string, oid: string | undefined, stop: StopSignal): Promise<AttributeMacros | undefined> {
    const known = oid === undefined ? this.#noMacros : this.#keptMacros.get(oid);
    if (known !== undefined || oid === undefined) return known;
    let text: string | undefined;
    await readBlobs(options(mirror, attributeBytesMax, stop), [oid], (_, outcome) => {
      if (outcome.kind === "content") text = outcome.content.toString("latin1");
    });
    if (text === undefined) return this.#noMacros;
    const macros = parseMacros(text, this.#ruleCountMax, stop);
    if (macros === undefined) return undefined;
    const numbered = new AttributeMacros(this.#wanted, macros);
    this.#keptMacros.set(oid, numbered);
    return numbered;
  }
}

/** Of the attributes of linguist, those that mean something for a search; the others are about statistics of GitHub. */
const linguistAttributes = new AttributeReader(
  ["linguist-language", "linguist-generated", "linguist-vendored"],
  attributeRulesMax,
  "linguist",
);

/** Some repositories have a line for each file in LFS. */
const lfsAttributes = new AttributeReader(["filter"], 4_000, "filters");

/** Of which files of a commit the blob may be a pointer of Git LFS: those for which the attribute `filter` is `lfs`. */
export interface LfsRule {
  /** The path has one character per byte. */
  readonly holds: (path: string) => boolean;
  /** Whether it holds for all files: where the attributes of a commit are off, a pointer is rather a gap that is told than a text that is not. */
  readonly isOff: boolean;
}

export const noLfsRule: LfsRule = { holds: () => false, isOff: false };

/** By the files of which they were made. */
const keptLfsRules = new BoundedMap<string, LfsRule>(keptCommitsMax, () => 1);

/** That of a commit that has these files, read from its mirror. Throws `git`, `cancelled`. */
export async function readLfsRule(mirror: string, files: RuleFiles, stop: StopSignal): Promise<LfsRule> {
  const name = nameOfFiles(files);
  const known = keptLfsRules.get(name);
  if (known !== undefined) return known;
  const read: Reading = { problems: [], isWhole: true };
  const attributes = await lfsAttributes.read(mirror, files, read, stop);
  const rule: LfsRule =
    attributes === undefined
      ? { holds: () => true, isOff: true }
      : { holds: (path) => attributes.attributesAt(path).get("filter") === "lfs", isOff: false };
  if (read.isWhole) keptLfsRules.set(name, rule);
  return rule;
}

function nameOfFiles(files: RuleFiles): string {
  return [...files]
    .map(([path, oid]) => `${oid} ${path}`)
    .sort()
    .join("\0");
}

function options(directory: string, contentBytesMax: number, stop: StopSignal) {
  return { directory, contentBytesMax, silenceMs: readSilenceMs, stop };
}

function unreadable(kind: "missing" | "too-large", bytesMax: number): string {
  return kind === "missing" ? "is not in the mirror" : `has more than ${bytesMax >> 10} KiB`;
}

function directoryName(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
