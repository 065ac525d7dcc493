import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { graphql, type OperationName, type Variables } from "./graphql.js";
import type { Operations } from "./operation-types.js";

/** The state of a request. */
export type Answer<T> =
  | { readonly kind: "waiting" }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown };

export interface UsedAnswer<T> {
  readonly answer: Answer<T>;
  readonly retry: () => void;
}

const waiting = { kind: "waiting" } as const;

/**
 * The answer to a GraphQL operation, asked for again when a variable changes. The request ends when the component goes
 * away.
 */
export function useGraphql<Name extends OperationName>(
  name: Name,
  query: string,
  variables: Variables<Name>,
): UsedAnswer<Operations[Name]["data"]> {
  return useAnswer(JSON.stringify([name, variables]), (signal) => graphql(name, query, variables, signal));
}

/** The same for any request; `key` changes with what is asked. */
export function useAnswer<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): UsedAnswer<T> {
  const round = useSignal(0);
  const state = useSignal<{ readonly key: string; readonly answer: Answer<T> }>({ key, answer: waiting });
  const wanted = round.value;
  // Before the browser paints, which takes longer than many an answer.
  useLayoutEffect(() => {
    const stop = new AbortController();
    // When the same is asked again, the previous answer stays until the next one.
    const { key: shownKey, answer: shown } = state.peek();
    if (shownKey !== key || shown.kind !== "ready") state.value = { key, answer: waiting };
    ask(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) state.value = { key, answer: { kind: "ready", value } };
      },
      (error: unknown) => {
        if (!stop.signal.aborted) state.value = { key, answer: { kind: "failed", error } };
      },
    );
    return () => stop.abort();
  }, [key, wanted]);
  // In the first render after a change, the answer of the previous variables is still there.
  const answer = state.value.key === key ? state.value.answer : waiting;
  return {
    answer,
    retry: () => {
      round.value += 1;
    },
  };
}

/** A part of an answer. */
export function mapAnswer<T, Part>({ answer, retry }: UsedAnswer<T>, part: (value: T) => Part): UsedAnswer<Part> {
  return { answer: answer.kind === "ready" ? { kind: "ready", value: part(answer.value) } : answer, retry };
}
