export const bytesPerLine = 16;

/** Bytes as `hexdump -C` prints them: offset, hexadecimal, and what is ASCII. */
export function hexLines(bytes: Uint8Array, offset: number): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    const part = [...bytes.subarray(at, at + bytesPerLine)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0"));
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    const columns = `${hex.slice(0, 8).join(" ")}  ${hex.slice(8).join(" ")}`;
    lines.push(`${(offset + at).toString(16).padStart(8, "0")}  ${columns.padEnd(3 * bytesPerLine)}  ${text}`);
  }
  return lines.join("\n");
}
