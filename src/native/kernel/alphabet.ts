/**
 * The 7-bit class alphabet of the index: ASCII letters are folded to lower case, control characters other than tab and
 * newline share one class, and bytes of 128 and more are hashed into the classes that remain. A trigram of three
 * classes is a 21-bit key. Two texts that differ only in ASCII case have equal trigrams, which is why one index serves
 * searches with and without case.
 */
export const classOf: Uint8Array = makeClasses();

export const trigramBits = 21;

function makeClasses(): Uint8Array {
  const classes = new Uint8Array(256);
  const classOfSymbol = new Map<number, number>();
  let next = 1;
  for (let byte = 0; byte < 128; byte++) {
    let symbol = byte;
    if (byte >= 65 && byte <= 90) symbol = byte | 32;
    else if (byte < 32 && byte !== 9 && byte !== 10) symbol = 0;
    let known = classOfSymbol.get(symbol);
    if (known === undefined) {
      known = next++;
      classOfSymbol.set(symbol, known);
    }
    classes[byte] = known;
  }
  const room = 128 - next;
  for (let byte = 128; byte < 256; byte++) classes[byte] = next + (byte % room);
  return classes;
}

/** The key of the trigram `text[at, at + 3)`. */
export function trigramAt(text: Uint8Array, at: number): number {
  return (classOf[text[at]] << 14) | (classOf[text[at + 1]] << 7) | classOf[text[at + 2]];
}
