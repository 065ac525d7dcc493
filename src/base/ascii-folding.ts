/** The two characters outside ASCII that a letter of ASCII matches when case is ignored, as UTF-8, with the letter. */
export const foldedCharacters = [
  { letter: "k", bytes: Buffer.from("\u212a") },
  { letter: "s", bytes: Buffer.from("\u017f") },
] as const;
