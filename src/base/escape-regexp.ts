/** The RE2 source that matches this text and nothing else. */
export function escapeRegexp(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}
