import { signal } from "@preact/signals";
import { buildClientSchema, getIntrospectionQuery, type GraphQLSchema, type IntrospectionQuery } from "graphql";
import { callGraphql, type GraphqlReply } from "../api/graphql.js";
import { ApiError } from "../api/api-error.js";
import { readVariables } from "./console-document.js";
import type { ConsoleState } from "./console-state.js";

export type Outcome =
  | { readonly kind: "none" }
  | { readonly kind: "running" }
  | { readonly kind: "reply"; readonly reply: GraphqlReply }
  | { readonly kind: "failed"; readonly message: string };

/** One operation at a time: a new one ends the one before. */
export class ConsoleRun {
  readonly outcome = signal<Outcome>({ kind: "none" });
  #stop = new AbortController();

  async start({ query, variables, operationName }: ConsoleState, token: string): Promise<void> {
    this.stop();
    const values = readVariables(variables);
    if (typeof values === "string") {
      this.outcome.value = { kind: "failed", message: values };
      return;
    }
    const stop = new AbortController();
    this.#stop = stop;
    this.outcome.value = { kind: "running" };
    try {
      const name = operationName === "" ? undefined : operationName;
      const reply = await callGraphql({ query, variables: values, operationName: name, token }, stop.signal);
      if (this.#stop === stop) this.outcome.value = { kind: "reply", reply: { ...reply, text: indented(reply.text) } };
    } catch (error) {
      if (this.#stop === stop && !stop.signal.aborted)
        this.outcome.value = { kind: "failed", message: error instanceof Error ? error.message : String(error) };
    }
  }

  stop(): void {
    this.#stop.abort();
    if (this.outcome.peek().kind === "running") this.outcome.value = { kind: "failed", message: "Stopped." };
  }
}

/** As it is, if it is no JSON. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The schema, as the server describes itself. */
export async function loadSchema(token: string, signal: AbortSignal): Promise<GraphQLSchema> {
  const query = getIntrospectionQuery({ inputValueDeprecation: false });
  const { status, text } = await callGraphql(
    { query, variables: {}, operationName: "IntrospectionQuery", token },
    signal,
  );
  const { data } = (status === 200 ? JSON.parse(text) : {}) as { readonly data?: IntrospectionQuery };
  if (data === undefined)
    throw new ApiError(status, `The server answered with status ${status}: ${text.slice(0, 300)}`);
  return buildClientSchema(data);
}
