import { secretSourcePattern } from "../../base/secret-source.js";
import { type OptionRow, submoduleRows } from "./options.js";

/** The properties of an item of `connections`. */
export const connectionTable = {
  name: {
    kind: "string",
    default: "",
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    allowed: "1 to 64 letters, digits and _ -",
    sample: "acme",
    description: "Name of the connection, for `trawl connection` and the log.",
  },
  kind: {
    kind: "choice",
    default: "github",
    choices: [
      "github",
      "gitlab",
      "gitea",
      "bitbucket-cloud",
      "bitbucket-data-center",
      "azure-devops",
      "gerrit",
      "list",
      "folder",
      "command",
    ],
    sample: "github",
    description:
      "GitHub; GitLab; Gitea or Forgejo; Bitbucket; Azure DevOps; Gerrit; a list of git URLs, one per line as `NAME URL` or `URL`; " +
      "a folder of repositories; or a command that prints such a list.",
  },
  url: {
    kind: "string",
    default: "",
    pattern: "^(https?://[^\\s@\\u0000-\\u001f]+|/[^\\u0000-\\u001f]*)$",
    allowed: "http(s)://, or an absolute path for list and folder",
    sample: "https://api.github.com",
    defaultText: "none; required except for command",
    description:
      "Address of the host; for GitHub, that of its API: https://api.github.com, or https://HOST/api/v3. The file or URL of the list, or the folder.",
  },
  command: {
    kind: "strings",
    default: [],
    description:
      "For the kind command: the absolute path of a program and its arguments, without a shell. It prints the list within five minutes.",
  },
  credential: {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    sample: "file:/etc/trawl/acme-token",
    defaultText: "none",
    description:
      "Where to read the token for listing and, at the same host, for fetching. It is read each time, so it can be replaced.",
  },
  app: {
    kind: "string",
    default: "",
    pattern: "^[A-Za-z0-9._-]{0,64}$",
    allowed: "an App ID or a client ID",
    defaultText: "none",
    description:
      "For github, instead of credential: the App ID or client ID of a GitHub App. Its installations give tokens for an hour, for lists, readers and fetches.",
  },
  appKey: {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    defaultText: "none",
    description:
      "Where to read the private key of that app: the PEM file that GitHub gives. It is read each time, so it can be replaced.",
  },
  installation: {
    kind: "string",
    default: "",
    pattern: "^[0-9]{0,20}$",
    allowed: "the number of an installation",
    defaultText: "the installations of owners; if that is empty, all",
    description: "The installation of the app whose repositories are listed, by its number, without owners.",
  },
  owners: {
    kind: "strings",
    default: [],
    description:
      "Organizations, groups and users whose repositories are listed; workspaces or WORKSPACE/PROJECT of Bitbucket Cloud, projects of Bitbucket " +
      "Data Center, ORGANIZATION or ORGANIZATION/PROJECT of Azure DevOps, folders of Gerrit; if empty, all that the token's owner is a member of.",
  },
  include: {
    kind: "strings",
    default: [],
    description:
      "Regular expressions, in RE2 syntax: only repositories whose name on the host matches one of them; if empty, all.",
  },
  exclude: {
    kind: "strings",
    default: [],
    description: "Regular expressions: without repositories that match one of them.",
  },
  forks: {
    kind: "boolean",
    default: true,
    description: "Whether forks are mirrored; searches exclude them without fork:yes.",
  },
  archived: {
    kind: "boolean",
    default: true,
    description: "Whether archived repositories are mirrored; searches exclude them without archived:yes.",
  },
  ssh: { kind: "boolean", default: false, description: "Fetch through ssh, with the keys of the daemon's account." },
  hosts: {
    kind: "strings",
    default: [],
    description:
      "Hosts, in addition to that of url, that a code host or a list on the web may name in the URLs of repositories, such as git.example.org; " +
      "* for all with public addresses, or those in git.networks. The others are left out. A list in a file may name any host.",
  },
  readers: {
    kind: "strings",
    default: [],
    description: "Names of users and organizations that may see the repositories that are private on the host.",
  },
  permissions: {
    kind: "choice",
    default: "readers",
    choices: ["readers", "host"],
    description:
      "Who may see the repositories that are private on the host: those in readers, or those who may read them on the host (github, gitlab, gitea), " +
      "as far as userNames or permissionsProvider say who they are here.",
  },
  userNames: {
    kind: "map",
    default: {},
    description: "For permissions of the host: the name of a user here by the name on the host; null for nobody.",
  },
  permissionsProvider: {
    kind: "string",
    default: "",
    pattern: "^[a-z0-9_-]{0,64}$",
    allowed: "the name of an identity provider",
    defaultText: "none",
    description:
      "For permissions of the host: the identity provider that is the host itself (GitLab, Gitea, Forgejo), whose linked accounts are the users on the host. Its issuer must be at the host of url.",
  },
  permissionsMaxAge: {
    kind: "integer",
    default: 14_400,
    min: 60,
    max: 604_800,
    unit: "seconds",
    description:
      "How long an answer of the host about readers counts; it is asked again after a third of it. If it does not answer until then, only site admins may read.",
  },
  prefix: {
    kind: "string",
    default: "",
    pattern: "^[^\\s@:\\\\\\u0000-\\u001f\\u007f]{0,200}$",
    allowed: "text without spaces and @ : \\",
    defaultText: "the host and a slash, or nothing for list, folder and command",
    description: "Begins the name of each repository.",
  },
  lfs: {
    kind: "boolean",
    default: false,
    description: "Whether files in Git LFS are searched and shown with their contents instead of their pointers.",
  },
  workingCopies: {
    kind: "boolean",
    default: false,
    description:
      "For the kind folder: whether the uncommitted files of its repositories, changed or new, are searchable, too, as the revision working-copy.",
  },
  workingCopyInterval: {
    kind: "integer",
    default: 5,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "Time between two looks at the files of such a repository.",
  },
  ...submoduleRows,
  interval: {
    kind: "integer",
    default: 3600,
    min: 60,
    max: 31_536_000,
    unit: "seconds",
    description: "Time between two listings.",
  },
  maxRepositories: {
    kind: "integer",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    unit: "repositories",
    description: "A host that lists more is not used, because something is wrong.",
  },
} as const satisfies Record<string, OptionRow>;

export const connectionRequired = ["name", "kind"] as const;
