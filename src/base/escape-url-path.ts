/** Escapes characters that are not allowed in the path of a URL, except slashes. */
export function escapeUrlPath(path: string): string {
  // The common case.
  if (/^[\w./@:+-]*$/.test(path)) return path;
  return encodeURIComponent(path).replace(/%(2F|40|3A|2B|24|26|3D|2C|3B)/g, (escaped) => decodeURIComponent(escaped));
}
