import { request } from "./api-error.js";

/** Sends a form as JSON. Throws an `ApiError` with the daemon's sentence if it is refused. */
export async function sendForm(path: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  await request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
}
