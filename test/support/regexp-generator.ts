import { fc } from "./property.js";

/** A regular expression as source text, and a generator of texts that it matches, unless anchors prevent it. */
export interface GeneratedRegexp {
  readonly source: string;
  readonly sample: (random: Random) => string;
}

/** A number in [0, limit). */
export type Random = (limit: number) => number;

/**
 * A small alphabet, so that matches are likely: both cases, the two letters that fold to ASCII, a non-BMP letter, a
 * newline.
 */
export const alphabet = [..."aabbckKsS_ 01é", "É", "\u212A", "\u017F", "😀", "\n", "\r", "-"];

/** A subset: a character that needs an escape in some context is always escaped. */
const character = fc.constantFrom(...alphabet);

function spelt(text: string): string {
  return text.replace(/[\n\r-]/g, (c) => ({ "\n": "\\n", "\r": "\\r", "-": "\\-" })[c] ?? c);
}

function leaf(source: string, ...samples: readonly string[]): GeneratedRegexp {
  return { source, sample: (random) => samples[random(samples.length)] };
}

const literal = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(character, { minLength: 1, maxLength: 5 })
      .map((all) => leaf(spelt(all.join("")), all.join(""))),
  },
  { weight: 1, arbitrary: fc.constantFrom("a.b", "+", "[k]", "a\nb", "\\").map((text) => leaf(`\\Q${text}\\E`, text)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      leaf("\\x41", "A"),
      leaf("\\x{212a}", "\u212A"),
      leaf("\\.", "."),
      leaf("\\012", "\n"),
      leaf("\\t", "\t"),
    ),
  },
);

const set = fc.oneof(
  fc.array(character, { minLength: 1, maxLength: 7 }).map((all) => leaf(`[${spelt(all.join(""))}]`, ...all)),
  fc
    .array(character, { minLength: 1, maxLength: 3 })
    .map((all) => leaf(`[^${spelt(all.join(""))}]`, "b", "x", "K", "\n")),
  fc.constantFrom(
    leaf("[a-c]", "a", "b", "c"),
    leaf("[^a-z]", "A", "0", "é"),
    leaf("[a-z]", "k", "b"),
    leaf("[A-Z]", "K", "S"),
    leaf("[j-t]", "k", "\u212A"),
    leaf("[^\\n]", "a", "é"),
    leaf("\\d", "0", "1"),
    leaf("\\D", "a", "\n"),
    leaf("\\w", "a", "_"),
    leaf("\\W", "-", "é", "\n"),
    leaf("\\s", " ", "\n"),
    leaf("\\S", "a", "é"),
    leaf("[[:alpha:]]", "a", "K"),
    leaf("[[:^alpha:]]", "0", "\n"),
    leaf("[[:upper:]_]", "S", "_"),
    leaf("[\\d\\W]", "0", "\n"),
    leaf("\\pL", "é", "k"),
    leaf("\\PL", "0", "\n"),
    leaf("\\p{Lu}", "K", "É"),
    leaf("[^\\p{Greek}]", "a", "\n"),
    leaf("[^\\PL]", "a", "é"),
    leaf("[^\\D]", "0"),
    leaf("[^\\S]", " ", "\n"),
    leaf("[\\x00-\\x{10FFFF}]", "a", "\n", "😀"),
    leaf("[^\\x00-\\x{10FFFF}]", ""),
    leaf("[é-😀]", "é", "😀"),
    leaf(".", "a", "😀", "\r"),
  ),
);

/** More texts than a set of literals can hold, so that the set is truncated. */
const manyTexts = fc.constantFrom([0, 80], [80, 200], [900, 1100]).map(([from, to]) => {
  const texts = Array.from(
    { length: to - from },
    (_, i) => `${(from + i).toString(3)}${["a", "b", "_", "é", "😀"][i % 5]}${((i * 7919) % 1013).toString(2)}`,
  );
  return leaf(`(?:${texts.join("|")})`, ...texts);
});

const anchor = fc.constantFrom(
  leaf("^", ""),
  leaf("$", ""),
  leaf("\\b", ""),
  leaf("\\B", ""),
  leaf("\\A", ""),
  leaf("\\z", ""),
  leaf("(?-m:^)", ""),
  leaf("(?-m:$)", ""),
);

interface Bounds {
  readonly source: string;
  readonly min: number;
  readonly max: number;
}

const bounds: fc.Arbitrary<Bounds> = fc.constantFrom(
  { source: "*", min: 0, max: 3 },
  { source: "+", min: 1, max: 3 },
  { source: "?", min: 0, max: 1 },
  { source: "{2}", min: 2, max: 2 },
  { source: "{2,}", min: 2, max: 5 },
  { source: "{0,2}", min: 0, max: 2 },
  { source: "{1,3}", min: 1, max: 3 },
  { source: "{5}", min: 5, max: 5 },
  { source: "{0}", min: 0, max: 0 },
  { source: "{4,6}", min: 4, max: 6 },
  { source: "{1}", min: 1, max: 1 },
);

const groupOpening = fc.constantFrom("(", "(?:", "(?i:", "(?-i:", "(?s:", "(?U:", "(?m-s:", "(?is-m:");

function group(opening: string, { source, sample }: GeneratedRegexp): GeneratedRegexp {
  return {
    source: `${opening}${source})`,
    sample: opening.startsWith("(?i") ? (random) => inSomeCase(sample(random), random) : sample,
  };
}

function inSomeCase(text: string, random: Random): string {
  return Array.from(text, (c) => (random(2) === 0 ? c.toUpperCase() : c.toLowerCase())).join("");
}

function repeat(
  { source, sample }: GeneratedRegexp,
  { source: operator, min, max }: Bounds,
  lazy: boolean,
): GeneratedRegexp {
  return {
    source: `(?:${source})${operator}${lazy ? "?" : ""}`,
    sample: (random) => Array.from({ length: min + random(max - min + 1) }, () => sample(random)).join(""),
  };
}

function sequence(parts: readonly GeneratedRegexp[]): GeneratedRegexp {
  return {
    source: parts.map(({ source }) => source).join(""),
    sample: (random) => parts.map(({ sample }) => sample(random)).join(""),
  };
}

/** Wraps it in a group, so that it can be part of a sequence. */
function alternatives(parts: readonly GeneratedRegexp[]): GeneratedRegexp {
  return {
    source: `(?:${parts.map(({ source }) => source).join("|")})`,
    sample: (random) => parts[random(parts.length)].sample(random),
  };
}

const { regexp } = fc.letrec<{ regexp: GeneratedRegexp }>((tie) => ({
  regexp: fc.oneof(
    { maxDepth: 5, withCrossShrink: true, depthSize: "small" },
    { weight: 5, arbitrary: literal },
    { weight: 3, arbitrary: set },
    { weight: 1, arbitrary: manyTexts },
    { weight: 1, arbitrary: anchor },
    { weight: 1, arbitrary: fc.constant(leaf("", "")) },
    { weight: 8, arbitrary: fc.array(tie("regexp"), { minLength: 2, maxLength: 5 }).map(sequence) },
    { weight: 4, arbitrary: fc.array(tie("regexp"), { minLength: 2, maxLength: 4 }).map(alternatives) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(tie("regexp"), bounds, fc.boolean())
        .map(([child, operator, lazy]) => repeat(child, operator, lazy)),
    },
    { weight: 2, arbitrary: fc.tuple(groupOpening, tie("regexp")).map(([opening, child]) => group(opening, child)) },
  ),
}));

/** A regular expression, and a text with parts that it is likely to match; some texts are not valid UTF-8. */
export interface RegexpCase {
  readonly source: string;
  readonly text: Buffer;
}

const noise = fc.oneof(
  { weight: 9, arbitrary: fc.array(character, { maxLength: 6 }).map((all) => Buffer.from(all.join(""))) },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 2, min: 0x80 }).map((bytes) => Buffer.from(bytes)) },
);

const pieces = fc.array(fc.oneof({ weight: 2, arbitrary: fc.nat() }, { weight: 3, arbitrary: noise }), {
  maxLength: 6,
});

const shortText = fc
  .array(fc.constantFrom(..."aabbS"), { minLength: 1, maxLength: 4 })
  .map((all) => leaf(all.join(""), all.join("")));
const textAlternatives = fc.array(shortText, { minLength: 2, maxLength: 5 }).map(alternatives);

/** The numbers in `pieces` are seeds of samples. */
export const regexpCases: fc.Arbitrary<RegexpCase> = fc
  .tuple(fc.oneof({ weight: 19, arbitrary: regexp }, { weight: 1, arbitrary: textAlternatives }), pieces)
  .map(([{ source, sample }, parts]) => ({
    source,
    text: Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.from(sample(randomFrom(part))) : part))),
  }));

/** A linear congruential generator: its high bits are random enough to choose samples. */
function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 0x1_0000_0000) * limit);
  };
}
