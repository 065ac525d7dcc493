import { fencedMarkdown } from "../../browse/markdown.js";
import type { BlobSource, CommitSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ResolversOf } from "./resolver-types.js";
import { listOccurrences } from "../sources/navigation.js";
import {
  askPrecise,
  definitionsAt,
  implementationPlaces,
  implementationsAt,
  type Position,
  referencePlaces,
  referencesAt,
} from "../sources/precise-navigation.js";
import { findSymbols, listSymbols, type SymbolFilter } from "../sources/symbol-lists.js";
import { SymbolSource } from "../sources/match-sources.js";
import { offsetPageInfo, pageCountMax, pageLength, paginate, skipCount } from "./connection-types.js";

interface Page extends SymbolFilter {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

/** A page of the symbols of the files below a folder of a commit. */
export async function symbolsBelow(commit: CommitSource, folder: string, page: Page, context: RequestContext) {
  const { nodes, pageInfo } = paginate(await findSymbols(commit, folder, page, context), page.first, page.after);
  return { nodes, pageInfo };
}

export const symbolFields: Pick<
  ResolversOf<"GitBlob">,
  | "symbols"
  | "symbol"
  | "outline"
  | "lsif"
  | "symbolInfo"
  | "localCodeIntel"
  | "hover"
  | "definitions"
  | "references"
  | "implementations"
> = {
  symbols: async (source, page, context) => {
    const skipped = skipCount(page.after);
    const { symbols, totalCount } = await listSymbols(source, page, skipped, pageLength(page.first), context);
    return {
      nodes: symbols,
      pageInfo: offsetPageInfo(skipped, symbols.length, symbols.length > 0 && skipped + symbols.length < totalCount),
    };
  },
  symbol: async (source, { line, character }, { git }) => {
    const { word, names, language } = await listOccurrences(source, { line, character }, false, git);
    const at = `L${line + 1}:${(word?.character ?? 0) + 1}-`;
    const found = names.flatMap(({ definitions }) => definitions).find(({ url }) => url.startsWith(`?${at}`));
    return found === undefined ? null : new SymbolSource(source, language, found);
  },
  outline: async (source, _, context) => {
    const { symbols } = await listSymbols(source, {}, 0, pageCountMax, context);
    return nestSymbols(symbols);
  },
  lsif: (source) => source,
  symbolInfo: async (source, { line, character }, context) => {
    const found = await definitionsAt(source, { line, character }, context);
    const [first] = found?.definitions ?? [];
    if (first === undefined) return null;
    const { symbol, signature } = first;
    const { start, end } = symbol.location.range;
    return {
      definition: {
        repo: symbol.file.repository.name,
        commit: symbol.file.commit.oid,
        path: symbol.file.path,
        range: { line: start.line, character: start.character, length: end.character - start.character },
      },
      hover: signature,
    };
  },
  hover: (source, place, context) => hoverAt(source, place, context),
  definitions: async (source, place, context) => {
    const found = await definitionsAt(source, place, context);
    return found === null ? null : { ...found, nodes: found.definitions };
  },
  references: (source, place, context) => referencesAt(source, place, context),
  implementations: (source, place, context) => implementationsAt(source, place, context),
  localCodeIntel: async (source, _, { git }) => {
    const { names } = await listOccurrences(source, { line: 0, character: 0 }, true, git);
    return {
      symbols: names.flatMap(({ name, definitions: [definition], references }) => {
        if (definition === undefined) return [];
        const row = definition.line - 1;
        const def = references.find(({ line }) => line === row);
        const toRow = (at: typeof def & object) => ({ row: at.line, column: at.character, length: at.length });
        return def === undefined ? [] : [{ name, hover: null, def: toRow(def), refs: references.map(toRow) }];
      }),
    };
  },
};

export const navigation: ResolversOf<"GitBlobLSIFData"> = {
  hover: (source, place, context) => hoverAt(source, place, context),
  definitions: async (source, place, context) => {
    const found = await definitionsAt(source, place, context);
    return paginate(
      (found?.definitions ?? []).map(({ symbol }) => symbol.location),
      undefined,
      undefined,
    );
  },
  references: async (source, { first, after, ...place }, context) =>
    paginate(await referencePlaces(source, place, context), first, after),
  implementations: async (source, { first, after, ...place }, context) =>
    paginate(await implementationPlaces(source, place, "implementations", context), first, after),
  prototypes: async (source, { first, after, ...place }, context) =>
    paginate(await implementationPlaces(source, place, "prototypes", context), first, after),
};

/** The likeliest definition of a name and what is written about it; of a name that is defined elsewhere, what an index says. */
async function hoverAt(source: BlobSource, place: Position, context: RequestContext) {
  const found = await definitionsAt(source, place, context);
  const [first] = found?.definitions ?? [];
  if (found?.precision !== "PRECISE") {
    const precise = await askPrecise(source, place, "definitions", context);
    if (precise?.range !== undefined && precise.about.signature !== "") {
      const { language } = await listOccurrences(source, place, false, context.git);
      const { range, about } = precise;
      const markdown = fencedMarkdown(fenced(language, about.signature), about.documentation);
      return { markdown, range, precision: "PRECISE" as const };
    }
  }
  if (found === null || first === undefined) return null;
  const { range, precision } = found;
  const code = fenced(first.symbol.language, first.signature);
  return { markdown: fencedMarkdown(code, first.documentation), range, precision };
}

function fenced(language: string, code: string): string {
  return `\`\`\`${language.toLowerCase()}\n${code.replaceAll("```", "")}\n\`\`\``;
}

/** Symbols with how deeply they are nested: a container is the last symbol above with its name. */
function nestSymbols(symbols: readonly SymbolSource[]) {
  const depthOf = new Map<string, number>();
  return symbols.map((symbol) => {
    const { name, containerName } = symbol;
    const last = containerName?.split(/\.|::|\//).at(-1);
    const depth = last === undefined ? 0 : (depthOf.get(last) ?? -1) + 1;
    depthOf.set(name, depth);
    return { symbol, depth };
  });
}
