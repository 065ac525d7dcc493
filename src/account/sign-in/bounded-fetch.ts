import { ProviderProblem } from "./provider-problem.js";
import { providerAnswerMs, providerBytesMax } from "./provider-config.js";

/** What the libraries give with a request. */
interface FetchOptions {
  readonly method?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  readonly signal?: AbortSignal | null;
}

/**
 * Sends a request to a provider. The whole answer arrives in time and is short, or there is none; redirects are not followed.
 * Rejects with a `ProviderProblem`.
 */
export async function boundedFetch(provider: string, url: string, options: FetchOptions): Promise<Response> {
  const deadline = AbortSignal.timeout(providerAnswerMs);
  const { method = "GET", headers = {}, body } = options;
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: body as string | URLSearchParams | Uint8Array | null,
      redirect: "manual",
      signal: deadline,
    });
    const bytes = await readBody(provider, response);
    const { status, statusText, headers: answered } = response;
    return new Response(bytes.length === 0 && isBodyless(status) ? null : bytes, {
      status,
      statusText,
      headers: plain(answered),
    });
  } catch (error) {
    if (error instanceof ProviderProblem) throw error;
    if (deadline.aborted)
      throw new ProviderProblem("unreachable", `${provider} did not answer within ${providerAnswerMs / 1000} s`);
    throw new ProviderProblem("unreachable", `${provider} cannot be reached (${reasonIn(error)})`, { cause: error });
  }
}

async function readBody(provider: string, { body }: Response): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let byteCount = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    byteCount += part.length;
    if (byteCount > providerBytesMax)
      throw new ProviderProblem("unreachable", `${provider} sent more than ${providerBytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The body is decoded already. */
function plain(headers: Headers): Headers {
  const copy = new Headers(headers);
  copy.delete("content-encoding");
  copy.delete("content-length");
  return copy;
}

function isBodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** Such as ECONNREFUSED, or the code of a certificate that is not trusted. */
function reasonIn(error: unknown): string {
  const { cause, message } = error as { readonly cause?: unknown; readonly message?: unknown };
  const { code, message: why } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return String(code ?? why ?? message).slice(0, 200);
}
