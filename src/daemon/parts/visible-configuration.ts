import { redactUrl } from "../../git/run/remote-url.js";
import type { ResolvedOptions } from "../options.js";

/** The options that a site admin may see: all except passwords and secrets. */
export function visibleConfiguration({ typed: _, repositories, webhooks, ...options }: ResolvedOptions): string {
  const secrets = Object.fromEntries(Object.keys(webhooks.secrets).map((id) => [id, "REDACTED"]));
  // Both are commands, and may contain the path of a key or a password.
  const { sshCommand, credentialHelper } = options.git;
  const git = { ...options.git, sshCommand: redacted(sshCommand), credentialHelper: redacted(credentialHelper) };
  return JSON.stringify(
    {
      ...options,
      git,
      webhooks: { secrets },
      repositories: repositories.map((repository) => ({ ...repository, url: redactUrl(repository.url) })),
    },
    null,
    2,
  );
}

function redacted(text: string): string {
  return text === "" ? "" : "REDACTED";
}
