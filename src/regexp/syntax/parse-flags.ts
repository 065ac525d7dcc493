import type { Parsed } from "./parsed.js";
import type { SourceText } from "./syntax-error.js";

/** The flags that apply at a position: `(?i)`, `(?s)`, `(?m)`, `(?U)`. */
export interface Flags {
  readonly fold: boolean;
  readonly dotNewline: boolean;
  readonly multiLine: boolean;
  readonly ungreedy: boolean;
}

const flagNames: ReadonlyMap<string, keyof Flags> = new Map([
  ["i", "fold"],
  ["s", "dotNewline"],
  ["m", "multiLine"],
  ["U", "ungreedy"],
]);

/** The flags after a group of flags, and whether they end the group: `(?i)` does, `(?i:` begins a group. */
export interface FlagGroup {
  readonly flags: Flags;
  readonly isClosed: boolean;
}

/** Parses `(?flags)` or `(?flags:` at `open`, where `before` applies. */
export function parseFlags(source: SourceText, open: number, before: Flags): Parsed<FlagGroup> {
  const { text } = source;
  const flags = { ...before };
  let on = true;
  let sawFlag = false;
  for (let at = open + 2; ; at++) {
    const character = text.charAt(at);
    const flag = flagNames.get(character);
    if (flag !== undefined) {
      flags[flag] = on;
      sawFlag = true;
    } else if (character === "-" && on) {
      on = false;
      sawFlag = false;
    } else if ((character === ":" || character === ")") && (on || sawFlag)) {
      return { value: { flags, isClosed: character === ")" }, next: at + 1 };
    } else if (character === "") {
      throw source.errorAt("missing closing )", open);
    } else {
      throw source.error("invalid or unsupported Perl syntax", open, lookaroundEnd(text, open, at + 1));
    }
  }
}

/** Where an error excerpt of a group that starts with `(?` ends: look-behind is shown as `(?<=`, not as `(?<`. */
function lookaroundEnd(text: string, open: number, end: number): number {
  return /^\(\?<[=!]/.test(text.slice(open, open + 4)) ? open + 4 : end;
}
