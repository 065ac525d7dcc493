/**
 * The failure function of Knuth, Morris and Pratt: `borders[n]` is the length of the longest proper prefix of the
 * needle's first n bytes that is also a suffix of them.
 */
export function computeBorders(needle: Uint8Array): Uint32Array {
  const borders = new Uint32Array(needle.length + 1);
  let border = 0;
  for (let n = 1; n < needle.length; n++) {
    while (border > 0 && needle[border] !== needle[n]) border = borders[border];
    if (needle[border] === needle[n]) border++;
    borders[n + 1] = border;
  }
  return borders;
}
