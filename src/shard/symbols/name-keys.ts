/** FNV-1a, of letters and digits in lower case: `buf_io` and `BufIO` have the same key. */
const hashPrime = 0x01000193;

/** The key of a name without letters, which is not looked up. */
export const emptyKey = 0x811c9dc5;

/** By byte: what it adds to a key, letters of ASCII in lower case; 0 for bytes that are neither letters nor digits. */
const keyBytes = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 65 && byte <= 90) return byte + 32;
  return (byte >= 48 && byte <= 57) || (byte >= 97 && byte <= 122) || byte >= 128 ? byte : 0;
});

const newline = 10;

/** The key of a text whose first bytes have the key `key`, with one byte more. */
export function addToKey(key: number, byte: number): number {
  const added = keyBytes[byte];
  return added === 0 ? key : Math.imul(key ^ added, hashPrime) >>> 0;
}

/** The parts of a shard by the keys of the names of their symbols. */
export interface NameKeys {
  /** Ascending. */
  readonly keys: Uint32Array;
  /** By key: a part with a name of this key. Those of equal keys ascend. */
  readonly parts: Uint32Array;
}

/** The keys of the names of all parts, each name followed by a newline; those of part i begin at `nameStarts[i]`. */
export function gatherNameKeys(names: Uint8Array, nameStarts: Uint32Array): NameKeys {
  let nameCount = 0;
  for (let at = 0; at < names.length; at++) if (names[at] === newline) nameCount++;
  // A pair is one number with the key above the part, so sorting numbers sorts by both.
  const pairs = new Uint32Array(2 * nameCount);
  let end = 0;
  for (let part = 0; part + 1 < nameStarts.length; part++) {
    let key: number = emptyKey;
    for (let at = nameStarts[part]; at < nameStarts[part + 1]; at++) {
      if (names[at] !== newline) {
        key = addToKey(key, names[at]);
        continue;
      }
      if (key !== emptyKey) {
        pairs[end++] = part;
        pairs[end++] = key;
      }
      key = emptyKey;
    }
  }
  new BigUint64Array(pairs.buffer, 0, end / 2).sort();
  const keys = new Uint32Array(end / 2);
  const parts = new Uint32Array(end / 2);
  let count = 0;
  for (let i = 0; i < end; i += 2) {
    if (count > 0 && keys[count - 1] === pairs[i + 1] && parts[count - 1] === pairs[i]) continue;
    keys[count] = pairs[i + 1];
    parts[count++] = pairs[i];
  }
  return { keys: keys.slice(0, count), parts: parts.slice(0, count) };
}

/** Calls `take` for each part with this key. Keys that do not ascend are damage: some parts may not be found. */
export function findNamedParts({ keys, parts }: NameKeys, key: number, take: (part: number) => void): void {
  let from = 0;
  let to = keys.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (keys[middle] < key) from = middle + 1;
    else to = middle;
  }
  for (let i = from; i < keys.length && keys[i] === key; i++) take(parts[i]);
}
