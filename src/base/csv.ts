/**
 * A value as a field of CSV (RFC 4180). One that a spreadsheet would take for a formula begins with an apostrophe. NUL,
 * at which some readers end the file, becomes U+FFFD.
 */
export function csvField(value: string): string {
  const safe = value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
  const text = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/.test(safe) ? `'${safe}` : safe;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
