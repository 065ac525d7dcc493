import type { Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { TextEditor } from "./text-editor.js";
import "./editor.css";

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
