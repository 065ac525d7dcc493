/** Why ctags has found no symbols in a text; each completes the sentence "ctags …". */
export const symbolFaults = {
  time: "took too long",
  crash: "crashed",
  garbage: "wrote something other than symbols",
  output: "wrote too much",
} as const;

export type SymbolFault = keyof typeof symbolFaults;

export function isSymbolFault(word: string): word is SymbolFault {
  return Object.hasOwn(symbolFaults, word);
}

/** A file whose symbols are missing. */
export interface SymbolFailure {
  readonly repositoryId: number;
  readonly path: string;
  readonly fault: SymbolFault;
}
