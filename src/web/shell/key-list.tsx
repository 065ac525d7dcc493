import { useLayoutEffect, useRef } from "preact/hooks";
import { keyListOpen, pageKeys, type PageKey } from "../ui/keys.js";

/** The keys that work inside a component which has the focus. */
const otherKeys: readonly (readonly [key: string, what: string])[] = [
  ["Enter", "In the search field: run the search"],
  ["Tab", "In the search field: take the chosen completion"],
  ["Escape", "Close a list or a dialog, leave a field"],
];

/** The list of all keys, under `?`. */
export function KeyList() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = keyListOpen.value;
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const close = () => {
    keyListOpen.value = false;
  };
  return (
    <dialog ref={dialog} class="key-list" aria-labelledby="key-list-title" onClose={close}>
      <h2 id="key-list-title">Keys</h2>
      <dl>
        {pageKeys.value.map(({ key, what }: PageKey) => (
          <KeyRow key={key} name={key} what={what} />
        ))}
        {otherKeys.map(([key, what]) => (
          <KeyRow key={key} name={key} what={what} />
        ))}
      </dl>
      <button type="button" class="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}

function KeyRow({ name, what }: { readonly name: string; readonly what: string }) {
  return (
    <div>
      <dt>
        <kbd>{name}</kbd>
      </dt>
      <dd>{what}</dd>
    </div>
  );
}
