import { loadAddon, type NativeMethods } from "./addon.js";
import { type ListRequest, tableArguments } from "./document-table.js";
import type { Kernel } from "./kernel.js";
import type { PatternKernel } from "./pattern-kernel.js";
import { openArguments, rankArguments } from "./ranking-kernel.js";

/**
 * Returns the kernel of the C++ addon that uses the widest vector instructions of this processor. Throws `bad-config`
 * if the addon is not built.
 */
export function nativeKernel(): Kernel {
  const { avx512, avx2, neon, swar } = loadAddon().kernels;
  return kernelOver(avx512 ?? avx2 ?? neon ?? swar);
}

/**
 * Returns a kernel that calls these methods of the addon, which takes separate arguments, because reading the properties of
 * an object from C++ is slower.
 */
export function kernelOver({
  encodeResults,
  encodeSymbols,
  visibleContents,
  listResults,
  countDocuments,
  openRanked,
  rankShards,
  ...loops
}: NativeMethods): Kernel {
  return {
    name: "native",
    ...loops,
    ...patternMethods(loops),
    visibleContents: (table, contents, contentCount, out, counts) =>
      visibleContents(...tableArguments(table), contents, contentCount, out, counts),
    listResults: (request) => listResults(...listArguments(request)),
    countDocuments: ({ table, found, leftOut, countMax, counts, totals }) =>
      countDocuments(...tableArguments(table), found, leftOut, countMax, counts, totals),
    openRanked: (sections, symbols) => openRanked(...openArguments(sections, symbols)),
    rankShards: (request) => rankShards(...rankArguments(request)),
    encodeResults: (request) =>
      encodeResults(
        request.text,
        request.paths,
        request.newlines,
        request.newlineStep,
        request.fragments,
        request.results,
        request.resultCount,
        request.rows,
        request.chunks,
        request.contextLines,
        request.lineBytesMax,
        request.out,
        request.pauseAt,
        request.cursor,
        request.labels,
        request.labelCount,
        request.cutsAround === true,
      ),
    encodeSymbols: (request) =>
      encodeSymbols(
        request.text,
        request.records,
        request.paths,
        request.newlines,
        request.newlineStep,
        request.fragments,
        request.kindStarts,
        request.results,
        request.resultCount,
        request.rows,
        request.out,
        request.pauseAt,
        request.cursor,
      ),
  };
}

function patternMethods({
  scanWindows,
  unitsOfPatterns,
}: Pick<NativeMethods, "scanWindows" | "unitsOfPatterns">): Pick<PatternKernel, "scanWindows" | "unitsOfPatterns"> {
  return {
    scanWindows: ({ text, ranges, rangeCount, table, group, workMax, ends, hits, cursor }) =>
      scanWindows(
        text,
        ranges,
        rangeCount,
        table.literals,
        table.starts,
        table.foldAscii,
        group.windowBytes,
        group.stride,
        group.windowFilter,
        group.blockFilter,
        group.buckets,
        group.entries,
        group.offsetMax,
        workMax,
        ends,
        hits,
        cursor,
      ),
    unitsOfPatterns: ({ keys, starts, postings, table, literalFrom, literalTo, costMax, units, totals }) =>
      unitsOfPatterns(
        keys,
        starts,
        postings,
        table.literals,
        table.starts,
        literalFrom,
        literalTo,
        costMax,
        units,
        totals,
      ),
  };
}

function listArguments(request: ListRequest): readonly (Uint32Array | number)[] {
  return [
    ...tableArguments(request.table),
    request.contents,
    request.contentCount,
    request.rows,
    request.rowCount,
    request.results,
    request.documents,
    request.counts,
    request.totals,
  ];
}
