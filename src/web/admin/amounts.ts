const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes for people. GraphQL sends large numbers as text. */
export function formatBytes(bytes: number | string): string {
  let value = Number(bytes);
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
