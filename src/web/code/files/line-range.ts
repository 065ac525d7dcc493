/** Selected lines, 1-based and inclusive. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

/** The lines in an address: `?L10`, `?L10-20`, `?L10:5-12:3`, or the same after `#`, as older links have it. */
export function readLineRange({ search, hash }: URL): LineRange | undefined {
  const text = search.split(/[?&]/).find((part) => /^L\d/.test(part)) ?? hash.slice(1);
  const found = /^L(\d{1,9})(?::\d+)?(?:-L?(\d{1,9})(?::\d+)?)?=?$/.exec(text);
  if (found === null) return undefined;
  const [, first = "1", last = first] = found;
  const [from, to] = [Number(first), Number(last)];
  return { from: Math.max(1, Math.min(from, to)), to: Math.max(from, to) };
}

/** The address with other lines, or none; what else it says stays. */
export function withLineRange({ pathname, search }: URL, range: LineRange | undefined): string {
  const others = partsOfSearch(search).filter((part) => !/^L\d/.test(part));
  return addressOfParts(pathname, [...partsOfSearch(lineRangeText(range)), ...others]);
}

/** The word by which an address asks for blame. */
export const blameSwitch = "blame";

/** Whether a word is in the search of an address, as in `?L10&blame`. */
export function hasSwitch({ search }: URL, name: string): boolean {
  return partsOfSearch(search).some((part) => part === name || part === `${name}=`);
}

/** The address with that word, or without it. The lines stay, also those after `#`. */
export function withSwitch({ pathname, search, hash }: URL, name: string, isOn: boolean): string {
  const others = partsOfSearch(search).filter((part) => part !== name && part !== `${name}=`);
  return addressOfParts(pathname, isOn ? [...others, name] : others) + hash;
}

function partsOfSearch(search: string): readonly string[] {
  return search.split(/[?&]/).filter((part) => part !== "");
}

function addressOfParts(pathname: string, parts: readonly string[]): string {
  return parts.length === 0 ? pathname : `${pathname}?${parts.join("&")}`;
}

/** The same as part of an address, with its question mark; "" for none. */
export function lineRangeText(range: LineRange | undefined): string {
  if (range === undefined) return "";
  return range.from === range.to ? `?L${range.from}` : `?L${range.from}-${range.to}`;
}

/** The end of an address on a code host, by its kind, that selects the lines there. */
export function hostFragment(kind: string | null, range: LineRange | undefined): string {
  if (range === undefined) return "";
  const { from, to } = range;
  const [before, between] =
    kind === "BITBUCKETCLOUD" ? ["#lines-", ":"] : kind === "GITLAB" ? ["#L", "-"] : ["#L", "-L"];
  return `${before}${from}${to > from ? `${between}${to}` : ""}`;
}
