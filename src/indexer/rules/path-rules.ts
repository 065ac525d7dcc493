import { documentFlags, unpackFlags, unpackSkipCode } from "../../shard/format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import { skipReasons } from "../../model/skip-reason.js";

/** What the files `.gitattributes` and the ignore file of a commit say of a file. */
export interface PathRules {
  /** The name of its language; "" leaves that to detection. */
  readonly language: string;
  /** See `documentFlags`. */
  readonly flags: number;
  /** Whether its text is left out of the index. */
  readonly isIgnored: boolean;
  /** Equal for equal rules; "" if there are none. */
  readonly key: string;
}

export function makeRules(language: string, flags: number, isIgnored: boolean): PathRules {
  const allFlags = language === "" ? flags : flags | documentFlags.language;
  const key = allFlags === 0 && !isIgnored ? "" : `${allFlags}${isIgnored ? "i" : ""}:${encodeURIComponent(language)}`;
  return { language, flags: allFlags, isIgnored, key };
}

/** Those of most files. */
export const noRules: PathRules = makeRules("", 0, false);

/** The rules with that key. */
export function rulesOfKey(key: string): PathRules {
  if (key === "") return noRules;
  const [head = "", language = ""] = key.split(":", 2);
  const flags = Number.parseInt(head, 10) & ~documentFlags.language;
  return makeRules(decodeURIComponent(language), flags, head.endsWith("i"));
}

/** The rules with which a document was indexed. */
export function rulesOfDocument(reader: ShardReader, document: number): PathRules {
  const info = reader.documentInfo[document];
  const flags = unpackFlags(info);
  const isIgnored = unpackSkipCode(info) === skipReasons.ignored.code;
  if (flags === 0 && !isIgnored) return noRules;
  const language = (flags & documentFlags.language) === 0 ? "" : languagesIn(reader)[reader.languageNumber(document)];
  return makeRules(language, flags & ~documentFlags.language, isIgnored);
}

const languagesOfReader = new WeakMap<ShardReader, readonly string[]>();

function languagesIn(reader: ShardReader): readonly string[] {
  let languages = languagesOfReader.get(reader);
  if (languages === undefined) languagesOfReader.set(reader, (languages = reader.languages()));
  return languages;
}
