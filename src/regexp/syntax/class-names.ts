/** RE2's named character classes, and their properties needed by the analysis. */

/** Ranges of the Perl classes `\d`, `\s` and `\w`. `\s` does not include the vertical tab. */
export const perlClasses: ReadonlyMap<string, readonly number[]> = new Map([
  ["d", ranges("09")],
  ["s", ranges("\t\n\f\r  ")],
  ["w", ranges("09AZ__az")],
]);

/** Ranges of the classes written as `[:name:]` inside a class. */
export const posixClasses: ReadonlyMap<string, readonly number[]> = new Map([
  ["alnum", ranges("09AZaz")],
  ["alpha", ranges("AZaz")],
  ["ascii", ranges("\x00\x7f")],
  ["blank", ranges("\t\t  ")],
  ["cntrl", ranges("\x00\x1f\x7f\x7f")],
  ["digit", ranges("09")],
  ["graph", ranges("!~")],
  ["lower", ranges("az")],
  ["print", ranges(" ~")],
  ["punct", ranges("!/:@[`{~")],
  ["space", ranges("\t\r  ")],
  ["upper", ranges("AZ")],
  ["word", ranges("09AZ__az")],
  ["xdigit", ranges("09AFaf")],
]);

/** The Unicode general categories and scripts that RE2 supports. */
export const unicodeClasses: ReadonlySet<string> = new Set(
  `Any C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs
  Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo
  Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common
  Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs
  Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul
  Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi
  Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki
  Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean
  Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
  Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong
  Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian
  Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi
  Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo
  Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana
  Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square`.split(/\s+/),
);

/** The named sets, as spelled in `ClassNode.named`, that contain a newline. A test compares this list with RE2. */
const unicodeWithNewline: ReadonlySet<string> = new Set(["Any", "C", "Cc", "Common"]);
const posixWithNewline: ReadonlySet<string> = new Set(["ascii", "cntrl", "space"]);

/** Whether a set of `ClassNode.named` contains a newline. */
export function namedClassHasNewline(named: string): boolean {
  if (named === "\\D" || named === "\\W") return true;
  if (named === "\\S") return false;
  if (named.startsWith("[:^")) return !posixWithNewline.has(named.slice(3, -2));
  const name = named.slice(2).replace(/[{}]/g, "");
  return unicodeWithNewline.has(name) === named.startsWith("\\p");
}

/** Pairs of characters as pairs of code points. */
function ranges(pairs: string): readonly number[] {
  return Array.from(pairs, (character) => character.charCodeAt(0));
}

/** Sets of code points as flat arrays of pairs (first, last). */

/** The same set with its pairs sorted, and adjacent or overlapping ones merged. */
export function normalizeRanges(pairs: readonly number[]): number[] {
  const sorted: [number, number][] = [];
  for (let i = 0; i < pairs.length; i += 2) sorted.push([pairs[i], pairs[i + 1]]);
  sorted.sort((a, b) => a[0] - b[0]);
  const out: number[] = [];
  for (const [first, last] of sorted) {
    if (out.length > 0 && first <= out[out.length - 1] + 1) out[out.length - 1] = Math.max(out[out.length - 1], last);
    else out.push(first, last);
  }
  return out;
}

export function rangesHold(pairs: readonly number[], codePoint: number): boolean {
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] <= codePoint && codePoint <= pairs[i + 1]) return true;
  }
  return false;
}

/** The characters of the set, or undefined if there are more than `limit`. */
export function expandRanges(pairs: readonly number[], limit: number): string[] | undefined {
  const characters: string[] = [];
  for (let i = 0; i < pairs.length; i += 2) {
    if (characters.length + pairs[i + 1] - pairs[i] + 1 > limit) return undefined;
    for (let codePoint = pairs[i]; codePoint <= pairs[i + 1]; codePoint++) {
      characters.push(String.fromCodePoint(codePoint));
    }
  }
  return characters;
}

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
