import { shownSymbolKind } from "../../model/symbol-kind.js";
import type { ListedSymbols, ListSymbols } from "../../protocol/symbol-messages.js";
import { compileRegexp } from "../../regexp/match/compile.js";
import type { ReadContext } from "./context.js";
import { readFileSymbols, toSymbolMatch } from "./file-symbols.js";

/** A page of the symbols of a file. Throws `bad-query` for an invalid regexp. */
export async function answerListSymbols(request: ListSymbols, context: ReadContext): Promise<ListedSymbols> {
  const matcher = request.query === "" ? undefined : compileRegexp(request.query, true);
  const file = await readFileSymbols(request, context);
  const { names, kinds } = file.symbols;
  const wanted = new Set(request.kinds);
  const found: number[] = [];
  for (let i = 0; i < names.length; i++) {
    if (wanted.size > 0 && !wanted.has(shownSymbolKind(kinds[i]))) continue;
    if (matcher !== undefined && matcher.startFrom(Buffer.from(names[i], "latin1"), 0) < 0) continue;
    found.push(i);
  }
  const page = found.slice(request.skipCount, request.skipCount + request.countMax);
  return {
    symbols: page.map((i) => toSymbolMatch(file, i)),
    totalCount: found.length,
    language: file.language,
    lack: file.lack,
  };
}
