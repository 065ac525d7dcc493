import { type RemoteUrl, sshHost } from "./remote-url.js";

/**
 * Messages of git, ssh and libcurl, each as part of a message in the locale `LC_ALL=C`, and their remedies. The first
 * that matches is used.
 */
const remedies: readonly (readonly [
  says: readonly string[],
  remedy: (remote: string, showsSecret: boolean) => string,
])[] = [
  [
    ["REMOTE HOST IDENTIFICATION HAS CHANGED"],
    (host) =>
      `the host key of ${host} differs from the known one: confirm the change with its operator, then put the new key in ~/.ssh/known_hosts of the daemon's account`,
  ],
  [
    ["Host key verification failed"],
    (host) =>
      `the host key of ${host} is not known: put it in ~/.ssh/known_hosts of the daemon's account; \`ssh-keyscan ${host}\` prints it, and its operator can confirm it`,
  ],
  [
    ["Permission denied (publickey", "Too many authentication failures"],
    (host) =>
      `${host} accepts no key of the daemon's account: put a key in its ~/.ssh, readable only by the account, and add the public key at ${host}`,
  ],
  [
    ["Load key", "UNPROTECTED PRIVATE KEY"],
    () => "an ssh key is not usable: it must belong to the daemon's account, with mode 0600, and have no passphrase",
  ],
  [
    ["Could not resolve host", "Could not resolve hostname", "Name or service not known"],
    (host) => `the host name ${host} cannot be resolved: check its spelling, and the DNS configuration of this machine`,
  ],
  [
    ["could not read Username", "could not read Password", "Authentication failed", "invalid credentials"],
    (host, showsSecret) =>
      showsSecret
        ? `${host} rejects the user and password: check whether the token has expired, and which credential is configured`
        : `${host} requires authentication: give the repository a credential, as in "credential": "file:/etc/trawl/token"; hosts also respond like this if the repository does not exist`,
  ],
  [["returned error: 403"], (host) => `${host} denies access: give the token the right to read this repository`],
  [
    ["returned error: 404", "not found", "does not appear to be a git repository", "does not exist", "Could not find"],
    (remote) =>
      `there is no such repository at ${remote}, or this account may not see it: check the URL and the permissions`,
  ],
  [
    ["certificate", "SSL"],
    (host) =>
      `the certificate of ${host} is not trusted: put the certificate of its authority in /usr/local/share/ca-certificates and run update-ca-certificates`,
  ],
  [
    ["redirect", "returned error: 301", "returned error: 302", "returned error: 307", "returned error: 308"],
    () =>
      "the remote redirects: use its new URL, or set git.followRedirects, which applies to what you have configured yourself",
  ],
  [
    ["Connection refused"],
    (host) => `${host} refuses the connection: check the port, and whether the service is running`,
  ],
  [
    ["timed out", "Network is unreachable", "No route to host", "Failed to connect", "Couldn't connect"],
    (host) =>
      `${host} cannot be reached from here: check the network, the firewall, and whether a proxy is needed (https_proxy in the unit)`,
  ],
  [["No space left on device"], () => "the disk is full: free space on the disk of the data directory"],
  [
    ["Permission denied"],
    (remote) =>
      `the daemon's account may not read ${remote}: grant it access, and note that the systemd unit hides /home and /root`,
  ],
];

const wordsLengthMax = 600;

/**
 * One line that begins with the remedy, followed by git's own message; only the message if no remedy is known.
 *
 * A remote controls part of the message, so a remedy is advice for people, and no code acts on it.
 */
export function withRemedy(words: string, url: RemoteUrl): string {
  const line = words
    .split(/[\r\n]+/)
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("; ");
  const found = remedies.find(([says]) => says.some((text) => words.includes(text)));
  return found === undefined
    ? line
    : `${found[1](describeRemote(url), url.kind === "http" && url.authorization !== null)} (${line.slice(0, wordsLengthMax)})`;
}

function describeRemote(url: RemoteUrl): string {
  switch (url.kind) {
    case "local":
      return url.path;
    case "http":
      return url.origin.slice(url.origin.indexOf("//") + 2);
    case "ssh":
      return sshHost(url.text);
  }
}
