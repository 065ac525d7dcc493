import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { EditorState, Prec, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { editorColours, editorTheme } from "./editor-theme.js";

export interface TextEditorOptions {
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
export class TextEditor {
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
