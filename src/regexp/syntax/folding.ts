/**
 * Case folding as RE2 does it under `(?i)`: Unicode simple folding. Within ASCII these are the two cases of a letter;
 * two characters outside ASCII fold into it, the long s (U+017F) and the Kelvin sign (U+212A).
 */

/** Characters that fold to another one. */
const folding = /[\p{Cased}\p{Changes_When_Casemapped}]/u;

/** Lower-cases only A-Z. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Whether folding changes nothing for this text. */
export function isCaseless(text: string): boolean {
  return !folding.test(text);
}

/** Whether folding changes nothing for the non-ASCII characters of this text. */
export function isCaselessOutsideAscii(text: string): boolean {
  return isCaseless(text.replace(/[\0-\x7f]+/g, ""));
}

/** All characters that fold together with this one, including itself; undefined if that requires the Unicode tables. */
export function foldedVariants(character: string): readonly string[] | undefined {
  if (isCaseless(character)) return [character];
  if (character > "\x7f") return undefined;
  const lower = character.toLowerCase();
  if (lower === "k") return ["k", "K", "\u212A"];
  if (lower === "s") return ["s", "S", "\u017F"];
  return [lower, lower.toUpperCase()];
}
