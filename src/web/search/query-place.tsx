import { placeOfBytes } from "../../query/syntax/characters.js";

interface Place {
  readonly from: number;
  readonly to: number;
}

/** The query with the erroneous part underlined. The place counts bytes of UTF-8. */
export function QueryPlace({ text, place }: { readonly text: string; readonly place: Place }) {
  const { from, to } = placeOfBytes(text, place.from, place.to);
  return (
    <code class="query-place">
      {text.slice(0, from)}
      <u>{to > from ? text.slice(from, to) : "\u00a0"}</u>
      {text.slice(to)}
    </code>
  );
}
