/**
 * Case folding as RE2 does it under `(?i)`: by the simple folding of Unicode. Within ASCII that is the two cases of a
 * letter; two characters outside of ASCII fold into it, the long s (U+017F) and the Kelvin sign (U+212A).
 */

/** Characters that fold to some other one. */
const folding = /[\p{Cased}\p{Changes_When_Casemapped}]/u;

/** Lower case for A-Z only. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Whether folding changes nothing for this text. */
export function isCaseless(text: string): boolean {
  return !folding.test(text);
}

/** Whether folding changes nothing for the characters of this text that are not ASCII. */
export function isCaselessOutsideAscii(text: string): boolean {
  return isCaseless(text.replace(/[\0-\x7f]+/g, ""));
}

/** All characters that fold together with this one, itself included; undefined when that takes the Unicode tables. */
export function foldedVariants(character: string): readonly string[] | undefined {
  if (isCaseless(character)) return [character];
  if (character > "\x7f") return undefined;
  const lower = character.toLowerCase();
  if (lower === "k") return ["k", "K", "\u212A"];
  if (lower === "s") return ["s", "S", "\u017F"];
  return [lower, lower.toUpperCase()];
}
