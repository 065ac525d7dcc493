/** The two characters outside ASCII that a letter of ASCII matches when case is ignored, as UTF-8, with the letter. */
export const foldedCharacters = [
  { letter: "k", bytes: Buffer.from("\u212a") },
  { letter: "s", bytes: Buffer.from("\u017f") },
] as const;

/** Where these characters begin in `text[from, to)`: all places of one of them, then those of the other. */
export function* findFoldedCharacters(text: Buffer, from: number, to: number): Generator<number, void> {
  const own = text.subarray(0, to);
  for (const { bytes } of foldedCharacters)
    for (let at = own.indexOf(bytes, from); at >= 0; at = own.indexOf(bytes, at + 1)) yield at;
}
