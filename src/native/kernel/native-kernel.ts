import { loadAddon, type NativeMethods } from "../addon.js";
import { tableArguments } from "./document-table.js";
import type { Kernel } from "./kernel.js";

/**
 * Returns the kernel of the C++ addon that uses the widest vector instructions of this processor. Throws `bad-config`
 * if the addon is not built.
 */
export function nativeKernel(): Kernel {
  const { avx2, neon, swar } = loadAddon().kernels;
  return kernelOver(avx2 ?? neon ?? swar);
}

/** Returns a kernel that calls these methods of the addon. */
export function kernelOver({
  encodeResults,
  encodeSymbols,
  visibleContents,
  listResults,
  ...loops
}: NativeMethods): Kernel {
  return {
    name: "native",
    ...loops,
    visibleContents: (table, contents, contentCount, out, counts) =>
      visibleContents(...tableArguments(table), contents, contentCount, out, counts),
    listResults: (request) =>
      listResults(
        ...tableArguments(request.table),
        request.contents,
        request.contentCount,
        request.rows,
        request.rowCount,
        request.results,
        request.documents,
        request.counts,
        request.totals,
      ),
    // The addon takes separate arguments, because reading the properties of an object from C++ is slower.
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
