/** What the tests use of the package `oidc-provider`, which has no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionDetails(
      request: IncomingMessage,
      response: ServerResponse,
    ): Promise<{ readonly params: { readonly client_id: string; readonly scope: string } }>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
    readonly Grant: new (of: {
      readonly accountId: string;
      readonly clientId: string;
    }) => { addOIDCScope(scope: string): void; save(): Promise<string> };
    on(event: string, listener: (...given: readonly unknown[]) => void): void;
  }
}
