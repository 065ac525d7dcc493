/** A part of a text, as it is written or as code. */
export interface TextPart {
  readonly isCode: boolean;
  readonly part: string;
}

/**
 * The code in a text as comments and Markdown have it: blocks between lines with three backticks, and words between single ones.
 * Everything else stays as it is written.
 */
export function textWithCode(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  // What is before `plainFrom` is in a part, and what is before `at` was looked at.
  let plainFrom = 0;
  let at = 0;
  for (let open = text.indexOf("`"); open >= 0; open = text.indexOf("`", at)) {
    const mark = text.startsWith("```", open) ? "```" : "`";
    at = open + mark.length;
    const close = text.indexOf(mark, at);
    const inner = close < 0 ? "" : text.slice(at, close);
    // A backtick without another one in its line is no mark; nor are two that have nothing between them.
    if (inner === "" || (mark === "`" && inner.includes("\n"))) continue;
    if (open > plainFrom) parts.push({ isCode: false, part: text.slice(plainFrom, open) });
    // The first line of a block names its language.
    parts.push({ isCode: true, part: mark === "`" ? inner : inner.slice(inner.indexOf("\n") + 1).trimEnd() });
    at = plainFrom = close + mark.length;
  }
  if (plainFrom < text.length) parts.push({ isCode: false, part: text.slice(plainFrom) });
  return parts;
}
