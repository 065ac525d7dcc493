import "./editor.css";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { tags } from "@lezer/highlight";

interface EditorProps {
  readonly label: string;
  readonly text: string;
  /** Read once, when the editor appears. */
  readonly extensions: readonly Extension[];
  readonly isReadOnly?: boolean;
  readonly onChange?: (text: string) => void;
  readonly onRun?: () => void;
  /** Called with the view when it appears, for what an extension needs later. */
  readonly onView?: (view: EditorView) => void;
}

/** A field for code, with the height of its container. */
export function Editor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<TextEditor>(undefined);
  const current = useRef(props);
  current.current = props;
  useEffect(() => {
    if (host.current === null) return undefined;
    const { label, text, extensions, isReadOnly = false, onRun, onView } = current.current;
    const made = new TextEditor(host.current, {
      label,
      text,
      extensions,
      isReadOnly,
      onChange: (changed) => current.current.onChange?.(changed),
      onRun: onRun === undefined ? undefined : () => current.current.onRun?.(),
    });
    editor.current = made;
    onView?.(made.view);
    return () => made.close();
  }, []);
  // In the same step as the render: a later one would replace what was typed in between.
  useLayoutEffect(() => editor.current?.replace(props.text), [props.text]);
  return <div ref={host} class="editor" />;
}

interface TextEditorOptions {
  /** Names the field for screen readers. */
  readonly label: string;
  readonly text: string;
  readonly isReadOnly: boolean;
  /** The language, and what the caller adds. */
  readonly extensions: readonly Extension[];
  readonly onChange: (text: string) => void;
  /** Called on Ctrl+Enter, on a Mac also on Cmd+Enter. */
  readonly onRun: (() => void) | undefined;
}

/**
 * A field for code. It stands in a shadow tree, because CodeMirror adds its style sheets to one as objects, and to a
 * document as style elements, which the Content-Security-Policy refuses.
 */
class TextEditor {
  readonly view: EditorView;
  /** What the caller knows already, so that it is not told again. */
  #isReplacing = false;

  constructor(host: HTMLElement, options: TextEditorOptions) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    const state = EditorState.create({ doc: options.text, extensions: [this.#extensions(options)] });
    this.view = new EditorView({ state, root, parent: root });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Replaces the text, unless it is the same. */
  replace(text: string): void {
    if (text === this.text) return;
    this.#isReplacing = true;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    this.#isReplacing = false;
  }

  close(): void {
    this.view.destroy();
  }

  #extensions({ label, isReadOnly, extensions, onChange, onRun }: TextEditorOptions): Extension {
    const run = (): boolean => {
      onRun?.();
      return true;
    };
    return [
      onRun === undefined
        ? []
        : Prec.highest(
            keymap.of([
              { key: "Mod-Enter", run },
              { key: "Ctrl-Enter", run },
            ]),
          ),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
      isReadOnly ? [EditorState.readOnly.of(true), EditorView.contentAttributes.of({ "aria-readonly": "true" })] : [],
      lineNumbers(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      bracketMatching(),
      isReadOnly ? [] : [closeBrackets(), indentOnInput(), autocompletion({ icons: false })],
      EditorView.lineWrapping,
      syntaxHighlighting(editorColours),
      editorTheme,
      // The Tab key moves the focus, as everywhere.
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (docChanged && !this.#isReplacing) onChange(state.doc.toString());
      }),
      typeOverSelection,
      ...extensions,
    ];
  }
}

/**
 * Replaces a selection by what is typed. A browser that does it itself keeps the colours of the replaced text as inline
 * styles, which the Content-Security-Policy refuses with a message on the console.
 */
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { state } = view;
    const { from, to, empty } = state.selection.main;
    const { data, inputType } = event;
    if (inputType !== "insertText" || data === null || empty || state.readOnly || view.composing) return false;
    event.preventDefault();
    const insert = () => state.update(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    if (!state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert)))
      view.dispatch(insert());
    return true;
  },
});

/** The colours of `ui/tokens.css`, which reach into the shadow tree as custom properties. */
const editorColours = HighlightStyle.define([
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

const editorTheme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", fontSize: "var(--size-code)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "round(1.5em, 1px)", overflow: "auto" },
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
  ".cm-specialChar": { color: "var(--bad)" },
  // CodeMirror's own underlines are images of data: addresses, which the Content-Security-Policy refuses.
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad)" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn)" },
  ".cm-lintRange-info, .cm-lintRange-hint": { backgroundImage: "none", textDecoration: "underline dotted" },
  ".cm-diagnostic": { padding: "var(--gap-1) var(--gap-3)", borderLeft: "4px solid var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
});
