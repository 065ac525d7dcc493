/**
 * A value as a field of CSV (RFC 4180). What a spreadsheet would take for a formula has an apostrophe before it: at the
 * start, and after a semicolon, which separates cells where the comma is the decimal sign: a quote in the middle of such a
 * cell protects nothing. Lines within a text are kept as they are, because those of a diff begin with signs. NUL, at which
 * some readers end the file, becomes U+FFFD.
 */
export function csvField(value: string): string {
  const safe = value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
  const inner = safe.replace(/;(?=[" ]{0,8}[=+\-@\uff1d\uff0b\uff0d\uff20])/g, ";'");
  const text = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(inner) ? `'${inner}` : inner;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
