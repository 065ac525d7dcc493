import type { DecodedText } from "./decoded-text.js";

/**
 * A text that is certainly in windows-1252, of which Latin-1 is a part; undefined for others.
 *
 * Any bytes are valid in an encoding of single bytes, and windows-1250, -1251, -1254, ISO 8859-2, KOI8, Mac Roman or the
 * code pages of DOS give other characters to most. Therefore each byte above 127 must stand where only its character in
 * windows-1252 makes sense. Many letters, such as é, ö and ß, are the same in all encodings of Latin scripts, and need
 * only to stand in a word of ASCII letters; è would be č in windows-1250, and must be in a text that has other letters of
 * French or Italian; ñ would be ń, and must be before a vowel, where Polish has no ń. A single doubt leaves the text as it is,
 * and so does too little evidence: `c\xe9` alone may be anything.
 */
export function decodeWestern(blob: Buffer): DecodedText | undefined {
  const evidence = collectEvidence(blob);
  let points = 0;
  for (let at = 0; at < blob.length; at++) {
    if (blob[at] < 128) continue;
    if (!isPlausible(blob, at, evidence)) return undefined;
    points += evidencePoints(blob, at);
  }
  if (points < pointsMin) return undefined;
  const units = new Uint16Array(blob.length);
  for (let at = 0; at < blob.length; at++) units[at] = toPoint(blob[at]);
  return { text: Buffer.from(units.buffer).toString("utf16le"), encoding: "WINDOWS-1252" };
}

/** One letter in a word that shows its language by other letters is enough, and so is one sign in a text. */
const pointsMin = 2;
const wordLettersMin = 3;
const textBytesMin = 16;

/** How much a byte that is plausible says about the encoding. */
function evidencePoints(text: Buffer, at: number): number {
  if (!isLetter(text[at])) return text.length >= textBytesMin ? 2 : 1;
  let letters = 0;
  for (let i = at - 1; isLetter(text[i]) && letters < wordLettersMin; i--) letters += Number(isAsciiLetter(text[i]));
  for (let i = at + 1; isLetter(text[i]) && letters < wordLettersMin; i++) letters += Number(isAsciiLetter(text[i]));
  return letters >= wordLettersMin ? 2 : 1;
}

/** What the whole text says about the letters in it. */
interface Evidence {
  /** It has letters of French or Portuguese that are the same in other encodings, but not in their languages. */
  readonly isFrenchOrPortuguese: boolean;
  /** The same, but for Italian. */
  readonly isItalian: boolean;
  /** It has letters of Czech, Hungarian and Spanish, and none of French or Portuguese. */
  readonly hasAcutes: boolean;
  /** There are letters above 127, and not only signs. */
  readonly hasLetters: boolean;
  readonly count: Uint32Array;
}

function collectEvidence(blob: Buffer): Evidence {
  const count = new Uint32Array(256);
  let graveWords = 0;
  for (let at = 0; at < blob.length; at++) {
    const byte = blob[at];
    if (byte < 128) continue;
    count[byte]++;
    if ((byte === code("à") || byte === code("è")) && isWord(blob, at)) graveWords++;
  }
  const has = (letters: string): boolean => Array.from(letters).some((letter) => count[code(letter)] > 0);
  return {
    isFrenchOrPortuguese: graveWords > 0 || has("àç"),
    isItalian: graveWords > 0 || has("à"),
    hasAcutes: has("áíóúý") && !has("àç"),
    hasLetters: count.subarray(0xc0).some((many) => many > 0),
    count,
  };
}

function isPlausible(text: Buffer, at: number, evidence: Evidence): boolean {
  const before = text[at - 1] ?? lineFeed;
  const after = text[at + 1] ?? lineFeed;
  const byte = text[at];
  return byte >= 0xc0 && byte !== 0xd7 && byte !== 0xf7
    ? isPlausibleLetter(text, at, before, after, evidence)
    : isPlausibleSign(text, at, before, after, evidence);
}

function isPlausibleLetter(text: Buffer, at: number, before: number, after: number, evidence: Evidence): boolean {
  const byte = text[at];
  // Scripts other than Latin have words of such bytes only.
  let from = at;
  let end = at + 1;
  while (from > 0 && text[from - 1] >= 0xc0) from--;
  while (end < text.length && text[end] >= 0xc0) end++;
  const touchesWord = isAsciiLetter(text[from - 1]) || isAsciiLetter(text[end]);
  if (end - from > 2 || !(touchesWord || (end - from === 1 && standalone.has(byte) && isWord(text, at)))) return false;
  const lower = byte < 0xe0 && byte !== code("ß") ? byte + 32 : byte;
  if (byte < 0xdf && before >= 0x61 && before <= 0x7a) return false;
  if (byte >= 0xe0 && before >= 0x41 && before <= 0x5a && after >= 0x41 && after <= 0x5a) return false;
  switch (lower) {
    case code("ë"):
    case code("ï"):
      return isVowel(before);
    case code("è"):
      return (
        isWord(text, at) ||
        (!isVowel(after) && !evidence.hasAcutes && (evidence.isFrenchOrPortuguese || evidence.count[code("é")] > 0))
      );
    case code("ê"):
      return evidence.isFrenchOrPortuguese || (evidence.count[code("é")] > 0 && !evidence.hasAcutes);
    case code("ñ"):
      return isVowel(after);
    case code("ã"):
      return isAmong("oeOE", after) || evidence.count[code("ç")] > 0;
    case code("õ"):
      return isAmong("eE", after) && evidence.count[code("ç")] + evidence.count[code("ã")] > 0;
    case code("ø"):
      return (
        !evidence.hasAcutes &&
        !isVowel(before) &&
        (!isVowel(after) || isAmong("yY", after) || evidence.count[code("å")] + evidence.count[code("æ")] > 0)
      );
    case code("æ"):
      return !evidence.hasAcutes && !isVowel(before) && isAmong("rlndtskgvbRLNDTSKGVB", after);
    case code("ù"):
      return isVowel(before) && !isLetter(after);
    case code("û"):
      return evidence.isFrenchOrPortuguese;
    case code("ì"):
    case code("ò"):
      return evidence.isItalian && !isLetter(after);
    case code("á"):
      return !(isVowel(before) && isVowel(after));
    default:
      return shared.has(lower);
  }
}

function isPlausibleSign(
  text: Buffer,
  at: number,
  before: number,
  after: number,
  { count, hasLetters }: Evidence,
): boolean {
  const touchesBefore = isLetter(before);
  const touchesAfter = isLetter(after);
  const isBetweenLetters = touchesBefore && touchesAfter;
  switch (toCharacter(text[at])) {
    case "©":
    case "±":
    case "½":
    case "¼":
    case "¾":
    case "–":
    case "—":
    case "€":
    case "•":
      return !touchesBefore && !touchesAfter && !isSign(before) && !isSign(after);
    case "®":
    case "™":
    case "°":
      return (!touchesAfter || toCharacter(text[at]) === "°") && !isBetweenLetters && !isSign(before) && !isSign(after);
    case "§":
    case "£":
      return !touchesBefore && !touchesAfter && !isSign(before);
    case "…":
      return hasLetters && !touchesAfter && !isSign(before) && !isSign(after);
    case "«":
    case "»":
      return !isBetweenLetters && count[code("«")] === count[code("»")];
    case "\xa0":
      return isAmong(":;?!»%", after) || isAmong("«", before) || isDigit(before);
    case "×":
    case "÷":
      return !isBetweenLetters;
    case "·":
      return touchesBefore === touchesAfter && !isSign(before) && !isSign(after);
    case "µ":
      return !touchesBefore && isAmong("smgFAVlWH", after) && !isLetter(text[at + 2]);
    case "¹":
    case "²":
    case "³":
    case "ª":
    case "º":
      return isDigit(before) && !touchesAfter && !isSign(after);
    case "¡":
      return !touchesBefore && touchesAfter && lineHas(text, at, "!");
    case "¿":
      return !touchesBefore && (after < 0x5b || after >= 0xc0) && touchesAfter && lineHas(text, at, "?");
    case "’":
      return isBetweenLetters ? isElision(text, at) : count[code("‘")] > 0 && !touchesAfter;
    case "‘":
      return !touchesBefore && count[code("’")] > 0;
    case "“":
    case "”":
      return (
        !isBetweenLetters && count[code("“")] > 0 && (count[code("“")] + count[code("”")] + count[code("„")]) % 2 === 0
      );
    case "„":
      return !touchesBefore && touchesAfter && count[code("„")] === count[code("“")] + count[code("”")];
    case "œ":
      return isAmong("u", after);
    default:
      return false;
  }
}

/** Whether a letter stands between spaces or quotes. */
function isWord(text: Buffer, at: number): boolean {
  return isAmong(" \t\n\r'\"(’", text[at - 1] ?? lineFeed) && isAmong(" \t\n\r'\"),.;:?!", text[at + 1] ?? lineFeed);
}

/** `l’eau`, `qu’il`, `don’t`, `we’ll`. */
function isElision(text: Buffer, at: number): boolean {
  const isShortAfter = !isLetter(text[at + 2]) || !isLetter(text[at + 3]);
  if (isShortAfter && isAmong("stdmrlvSTDMRLV", text[at + 1])) return true;
  const isShortBefore = !isLetter(text[at - 2]) || !isLetter(text[at - 3]);
  return (
    isShortBefore &&
    (isVowel(text[at + 1]) || isAmong("hH", text[at + 1])) &&
    isAmong("lLdDnNsSmMtTcCjJuU", text[at - 1])
  );
}

function lineHas(text: Buffer, from: number, mark: string): boolean {
  const end = text.indexOf(lineFeed, from);
  const at = text.indexOf(mark, from);
  return at >= 0 && (end < 0 || at < end);
}

/** The characters at 128 to 159, with controls where there is none. */
const controlsReplaced = Array.from("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ");

function toCharacter(byte: number): string {
  return byte >= 128 && byte < 160 ? controlsReplaced[byte - 128] : String.fromCharCode(byte);
}

function toPoint(byte: number): number {
  return toCharacter(byte).charCodeAt(0);
}

function code(character: string): number {
  const at = controlsReplaced.indexOf(character);
  return at >= 0 ? at + 128 : character.charCodeAt(0);
}

/** Letters at the same byte in the Western, Central European and Turkish encodings, or rare in the latter two. */
const shared = new Set(Array.from("áâäàåçéíîóôöúüß", code));

/** Words of one letter in a Western language. */
const standalone = new Set(Array.from("àÀèÈéó", code));

const vowels = new Set(Array.from("aeiouyAEIOUYáéíóúâêîôûäëïöüàèùåãõÁÉÍÓÚÂÊÎÔÛÄËÏÖÜÀÈÙÅÃÕ", code));

function isVowel(byte: number): boolean {
  return vowels.has(byte);
}

function isAmong(characters: string, byte: number): boolean {
  return characters.includes(String.fromCharCode(byte));
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isAsciiLetter(byte: number | undefined): boolean {
  return byte !== undefined && (byte | 32) >= 0x61 && (byte | 32) <= 0x7a;
}

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && (isAsciiLetter(byte) || (byte >= 0xc0 && byte !== 0xd7 && byte !== 0xf7));
}

/** A byte above 127 that is no letter. */
function isSign(byte: number): boolean {
  return byte >= 128 && byte < 0xc0 && byte !== 0xa0;
}

const lineFeed = 10;
