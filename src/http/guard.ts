import type { Gate } from "../account/gate.js";
import type { Viewer } from "../model/viewer.js";
import { plainText, type Handler, type Headers, type HttpRequest, type HttpResponse } from "./uws.js";

/** A handler that is told who asks. */
export type ViewerHandler = (request: HttpRequest, response: HttpResponse, viewer: Viewer) => Promise<void> | void;

/** Asks the gate before the handler, and answers those whom it refuses with a line of plain text. */
export function guarded(gate: Pick<Gate, "enter">, headersFor: (request: HttpRequest) => Headers, handler: ViewerHandler): Handler {
  return (request, response) => {
    const entry = gate.enter(request);
    if (entry.kind === "viewer") return handler(request, response, entry.viewer);
    return response.reply(entry.status, { ...plainText, ...headersFor(request) }, `${entry.message}\n`);
  };
}
