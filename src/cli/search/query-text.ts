/** A filter as text of a query, with its value between quotes where it would not be read as one word otherwise. */
export function fieldText(name: string, value: string): string {
  return /^[^\s"'(][^\s"'()]*$/.test(value) ? `${name}:${value}` : `${name}:"${value.replaceAll(/[\\"]/g, "\\$&")}"`;
}
