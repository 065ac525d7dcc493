import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { ErrorText, Notice } from "./states.js";
import "./lists-and-forms.css";

interface TextFieldProps {
  readonly label: string;
  readonly name: string;
  readonly type?: "text" | "password" | "email" | "number";
  /** As the attribute `autocomplete`, so that password managers work. */
  readonly autoComplete?: string;
  /** What it holds at first. */
  readonly value?: string;
  readonly hint?: string;
  readonly isOptional?: boolean;
}

/** A field of a form with its label. */
export function TextField({
  label,
  name,
  type = "text",
  autoComplete = "off",
  value,
  hint,
  isOptional,
}: TextFieldProps) {
  const id = useId();
  return (
    <div class="form-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="field"
        name={name}
        {...({ type } as { readonly type: "text" })}
        autoComplete={autoComplete}
        {...(value === undefined ? {} : { defaultValue: value })}
        required={isOptional !== true}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
      />
      {hint !== undefined && (
        <span id={`${id}-hint`} class="soft small">
          {hint}
        </span>
      )}
    </div>
  );
}

/** The texts of a form. */
export class FormFields {
  readonly #texts = new Map<string, string>();

  constructor(form: HTMLFormElement) {
    for (const [name, value] of new FormData(form)) if (typeof value === "string") this.#texts.set(name, value);
  }

  /** All fields by their names, as they are sent. */
  get all(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#texts);
  }

  /** "" for a field that is not there, such as a box that is not ticked. */
  get(name: string): string {
    return this.#texts.get(name) ?? "";
  }
}

interface FormProps {
  readonly submitLabel: string;
  readonly children: ComponentChildren;
  /** Called with the fields; a rejection is shown above the button. */
  readonly submit: (fields: FormFields) => Promise<void>;
}

/** A form that makes something, and is empty again afterwards. */
export function CreateForm({ submitLabel, children, submit }: FormProps) {
  const round = useSignal(0);
  const create = async (fields: FormFields): Promise<void> => {
    await submit(fields);
    round.value += 1;
  };
  return (
    <Form key={round.value} submitLabel={submitLabel} submit={create}>
      {children}
    </Form>
  );
}

/** A form that cannot be sent twice at once, and shows why it was refused. */
export function Form({ submitLabel, children, submit }: FormProps) {
  const isSending = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const send = async (form: HTMLFormElement): Promise<void> => {
    isSending.value = true;
    error.value = undefined;
    try {
      await submit(new FormFields(form));
    } catch (reason) {
      error.value = reason;
    } finally {
      isSending.value = false;
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isSending.peek()) void send(event.currentTarget);
      }}
    >
      {children}
      {error.value !== undefined && (
        <Notice kind="bad">
          <span>
            <ErrorText error={error.value} />
          </span>
        </Notice>
      )}
      <button type="submit" class="button main" disabled={isSending.value}>
        {submitLabel}
      </button>
    </form>
  );
}
