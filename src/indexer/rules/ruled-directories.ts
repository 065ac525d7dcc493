/** Directories with the bits of branches on which a file with rules for them changes. */
export type RuledDirectories = ReadonlyMap<string, number>;

/** The branches on which the rules for the path may have changed. */
export function ruledMask(ruled: RuledDirectories, path: string): number {
  let mask = ruled.get("") ?? 0;
  for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1))
    mask |= ruled.get(path.slice(0, end + 1)) ?? 0;
  return mask;
}
