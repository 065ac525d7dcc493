import { type PagePath, pageUrl } from "../../../../model/page-path.js";
import { requestPage } from "../../../api/api-error.js";
import { useAnswer } from "../../../api/use-graphql.js";
import { address } from "../../../route/router.js";
import { formatCount } from "../../../ui/numbers.js";
import { scrollable } from "../../../ui/scrollable.js";
import { Found } from "../../../ui/states.js";
import { bytesPerLine, hexLines } from "./hex.js";

/** Bytes that are shown at a time. */
const pageBytes = 4096;

interface HexProps {
  readonly path: PagePath;
  readonly byteCount: number;
}

/** A part of the bytes of a file, from the offset in the address on. */
export function HexView({ path, byteCount }: HexProps) {
  const given = Number(/^\d{1,15}$/.exec(address.value.searchParams.get("at") ?? "")?.[0] ?? 0);
  const chosen = Math.min(given, Math.max(0, byteCount - 1));
  const from = chosen - (chosen % bytesPerLine);
  const to = Math.min(byteCount, from + pageBytes);
  const url = pageUrl(path, "raw", path.path);
  const used = useAnswer(`${url} ${from}`, async (signal) => {
    if (byteCount === 0) return new Uint8Array();
    const response = await requestPage(url, signal, { Range: `bytes=${from}-${to - 1}` });
    // Whoever ignores the range sends everything.
    const bytes = new Uint8Array(await response.arrayBuffer());
    return response.status === 206 ? bytes : bytes.subarray(from, to);
  });
  if (byteCount === 0) return null;
  const page = (at: number, text: string) => (
    <a class="button quiet" href={at === 0 ? address.value.pathname : `${address.value.pathname}?at=${at}`}>
      {text}
    </a>
  );
  return (
    <section aria-label="Bytes">
      <p class="hex-head">
        <span class="soft small">
          Bytes {formatCount(from)} to {formatCount(to - 1)} of {formatCount(byteCount)}
        </span>
        {from > 0 && page(Math.max(0, from - pageBytes), "Earlier bytes")}
        {to < byteCount && page(to, "Later bytes")}
      </p>
      <Found used={used} what="the bytes">
        {(bytes) => (
          <pre class="hex" {...scrollable("Bytes in hexadecimal")}>
            {hexLines(bytes, from)}
          </pre>
        )}
      </Found>
    </section>
  );
}
