import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The colours of `ui/tokens.css`, which reach into the shadow tree as custom properties. */
export const editorColours = HighlightStyle.define([
  { tag: [tags.keyword, tags.definitionKeyword, tags.bool, tags.null, tags.atom], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--code-comment)" },
  { tag: [tags.propertyName, tags.attributeName, tags.labelName], color: "var(--code-name)" },
  {
    tag: [tags.typeName, tags.className, tags.variableName, tags.special(tags.variableName)],
    color: "var(--code-type)",
  },
  { tag: [tags.meta, tags.modifier], color: "var(--code-meta)" },
]);

const box = {
  border: "1px solid var(--line)",
  borderRadius: "var(--radius)",
  backgroundColor: "var(--raised)",
  color: "var(--text)",
  boxShadow: "var(--shadow)",
};

export const editorTheme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", fontSize: "var(--size-code)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { padding: "var(--gap-2) 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 var(--gap-3) 0 var(--gap-1)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--text-soft)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "2.5rem", padding: "0 var(--gap-2)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "color-mix(in srgb, var(--accent) 28%, transparent)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "1px solid var(--accent)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--bad-soft)" },
  ".cm-tooltip": box,
  ".cm-tooltip.cm-completionInfo": { ...box, maxWidth: "24rem", padding: "var(--gap-2) var(--gap-3)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px var(--gap-3)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--text)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)", fontWeight: "600" },
  ".cm-completionDetail": { color: "var(--text-soft)", fontStyle: "normal" },
  // CodeMirror's own underlines are images of data: addresses, which the Content-Security-Policy refuses.
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn)" },
  ".cm-lintRange-info, .cm-lintRange-hint": { backgroundImage: "none", textDecoration: "underline dotted" },
  ".cm-diagnostic": { padding: "var(--gap-1) var(--gap-3)", borderLeft: "4px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
});
