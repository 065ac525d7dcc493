/** What a check found. `remedy` is a sentence, undefined if nothing is to be done. */
export interface Finding {
  readonly name: string;
  /** `bad` prevents something that most installations need; `warning` may be as intended. */
  readonly state: "good" | "warning" | "bad";
  readonly text: string;
  readonly remedy?: string;
}

export function good(name: string, text: string): Finding {
  return { name, state: "good", text };
}

export function warning(name: string, text: string, remedy: string): Finding {
  return { name, state: "warning", text, remedy };
}

export function bad(name: string, text: string, remedy: string): Finding {
  return { name, state: "bad", text, remedy };
}
