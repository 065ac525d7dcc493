import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { ErrorText, Notice } from "./states.js";
import "./lists-and-forms.css";

export interface Action {
  /** Runs the work; while it runs, further calls do nothing. A failure is in `error`. */
  readonly run: (work: () => Promise<unknown>) => Promise<void>;
  readonly isRunning: Signal<boolean>;
  /** Undefined if there was none. */
  readonly error: Signal<unknown>;
}

/** What buttons of a part of a page do, one at a time. */
export function useAction(): Action {
  const isRunning = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const run = async (work: () => Promise<unknown>): Promise<void> => {
    if (isRunning.peek()) return;
    isRunning.value = true;
    error.value = undefined;
    try {
      await work();
    } catch (reason) {
      error.value = reason;
    } finally {
      isRunning.value = false;
    }
  };
  return { run, isRunning, error };
}

/** Why the last action failed. */
export function ActionError({ action }: { readonly action: Action }) {
  return action.error.value === undefined ? null : (
    <Notice kind="bad">
      <span>
        <ErrorText error={action.error.value} />
      </span>
    </Notice>
  );
}

interface ConfirmProps {
  readonly label: string;
  /** What the button is about, read aloud after the label. */
  readonly about: string;
  /** Whether it cannot be undone. */
  readonly isFinal?: boolean;
  /** What happens, and whether it can be undone. */
  readonly children: ComponentChildren;
  readonly act: () => void;
}

/** A button that asks before it does something that others notice. */
export function ConfirmButton({ label, about, isFinal = false, children, act }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const style = isFinal ? "button danger" : "button";
  return (
    <>
      <button type="button" class={style} onClick={() => dialog.current?.showModal()}>
        {label}
        <span class="unseen"> {about}</span>
      </button>
      <dialog ref={dialog} class="confirm" aria-labelledby={id}>
        <h2 id={id}>
          {label} {about}?
        </h2>
        <p>{children}</p>
        <div class="confirm-buttons">
          <button
            type="button"
            class={style}
            onClick={() => {
              dialog.current?.close();
              act();
            }}
          >
            {label}
          </button>
          <button type="button" class="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </dialog>
    </>
  );
}
