// This file is longer than others because it is one table, which is read and searched as a whole.
import type { ProviderConfig } from "../../account/sign-in/provider-config.js";
import type { ConnectionConfig } from "../../codehost/connection.js";
import { availableParallelism } from "node:os";
import { secretSourcePattern } from "../../base/secret-source.js";
import { logFormats, logLevels } from "../../base/log.js";
import { historyScopePattern } from "../../model/history-record.js";
import type { RepositoryConfig } from "../../model/repository.js";
import type { SearchContext } from "../../model/search-context.js";

/**
 * The table of options: each row is a key of the configuration file, of `--set KEY=VALUE`, of the JSON schema and of
 * the sample, which are all derived from it. To add an option, add a row, run `make config`, and read it as
 * `options.group.name`.
 *
 * The order is that of the sample. The part of a key before its first dot names a group, which is an object in the file:
 * `splitKey`.
 */
export const optionTable = {
  listen: {
    kind: "string",
    default: "127.0.0.1:7080",
    pattern: "^(\\[[0-9A-Fa-f:.]+\\]|[^:\\s]+):[0-9]{1,5}$",
    allowed: "HOST:PORT, port 0 for a free one",
    description:
      "Address of the HTTP server. An address other than loopback requires that auth.public is set, to true or to false.",
  },
  data: {
    kind: "string",
    default: "data",
    pattern: ".",
    allowed: "a path",
    description:
      "Directory of mirrors, shards and the control socket. A relative path is relative to the configuration file.",
  },
  "auth.public": {
    kind: "boolean",
    default: true,
    description:
      "Allow requests without an access token to search what is not private. When false, everything except health checks requires a token.",
  },
  "auth.accessTokens": {
    kind: "choice",
    default: "all-users-create",
    choices: ["all-users-create", "site-admin-create", "none"],
    description: "Who may create access tokens; with none, creating one is refused.",
  },
  "auth.tokenDays": {
    kind: "integer",
    default: 90,
    min: 1,
    max: 36_500,
    unit: "days",
    description: "Lifetime of an access token when the request names none.",
  },
  "auth.maxTokenDays": {
    kind: "integer",
    default: 365,
    min: 1,
    max: 36_500,
    unit: "days",
    description: "Longest lifetime that can be requested for an access token.",
  },
  "auth.allowTokensWithoutExpiry": {
    kind: "boolean",
    default: false,
    description:
      "Allow access tokens that never expire, when requested: trawl token create --expires never, or durationSeconds: null.",
  },
  "auth.allowSudoToSiteAdmins": {
    kind: "boolean",
    default: false,
    description: "Allow a token with site-admin:sudo to act as other site admins, too.",
  },
  "auth.allowSignup": {
    kind: "boolean",
    default: false,
    description:
      "Allow anybody to create an account at /-/sign-up. The first one becomes site admin; the first start then creates none.",
  },
  "auth.header": {
    kind: "string",
    default: "",
    pattern: "^[A-Za-z0-9-]{0,100}$",
    allowed: "the name of a header, or nothing",
    description:
      "Header in which a proxy names the user whom it has signed in, such as X-Forwarded-User. It must come from an address in auth.headerProxies, and the proxy must remove the one that a client sends.",
  },
  "auth.headerProxies": {
    kind: "strings",
    default: [],
    description: "Addresses, or networks such as 10.0.0.0/8, of the proxies whose auth.header is believed.",
  },
  "auth.headerSignUp": {
    kind: "boolean",
    default: false,
    description: "Create an account for an unknown user whom a proxy names in auth.header.",
  },
  "auth.sessionDays": {
    kind: "integer",
    default: 90,
    min: 1,
    max: 3650,
    unit: "days",
    description: "Lifetime of a session after signing in with a password.",
  },
  workers: {
    kind: "integer",
    default: availableParallelism(),
    defaultText: "the number of cores",
    sample: 4,
    min: 1,
    max: 256,
    unit: "threads",
    description: "Threads that search shards.",
  },
  readers: {
    kind: "integer",
    default: Math.min(availableParallelism(), 8) + 1,
    defaultText: "one more than the number of cores, at most 9",
    sample: 3,
    min: 1,
    max: 64,
    unit: "threads",
    description:
      "Threads that read mirrors, for example histories that are not indexed. Long reads of one client leave one of them to others.",
  },
  kernel: {
    kind: "choice",
    default: "native",
    choices: ["native", "ts"],
    description: "The inner loops: native code, or a slower TypeScript version for hosts without a compiler.",
  },
  externalUrl: {
    kind: "string",
    default: "",
    pattern: "^(https?://[^\\s/?#]+)?$",
    allowed: "http(s)://HOST without a path, or nothing for the address of listen",
    description:
      "URL by which clients reach the daemon, for example through a proxy with TLS. URLs in answers begin with it; with https, cookies are sent over TLS only.",
  },
  trustedOrigins: {
    kind: "strings",
    default: [],
    description:
      "Origins, such as https://console.example.org, whose pages may read /.api/ without a token and act with the session cookie of a signed-in user. The daemon's own origin is always trusted.",
  },
  trustedHosts: {
    kind: "strings",
    default: [],
    description:
      "Host names, without a port, by which clients reach the daemon, in addition to externalUrl, localhost, its addresses and, unless it listens on loopback, the name of the machine. " +
      "A request with another Host is refused, because a web page could use a name of its own to read private answers (DNS rebinding).",
  },
  trustedProxies: {
    kind: "strings",
    default: [],
    description:
      "Addresses, or networks such as 10.0.0.0/8, of proxies whose X-Forwarded-For header is trusted: rate limits and the audit log then use the client's address.",
  },
  "clients.sharePercent": {
    kind: "integer",
    default: 88,
    min: 1,
    max: 100,
    unit: "percent",
    description:
      "Share of each limit (running and waiting searches, GraphQL requests, files and bodies) that one client, which is a user or an address, may use. " +
      "Waiting clients are served round-robin.",
  },
  "search.defaultCount": {
    kind: "integer",
    default: 10_000,
    min: 1,
    max: 99_999_999,
    unit: "matches",
    description: "Number of matches after which a search stops when its query has no count:.",
  },
  "search.diffType": {
    kind: "choice",
    default: "auto",
    choices: ["auto", "commit", "diff"],
    description:
      "The type of match objects that are diffs in the stream. With auto it is diff, or commit for clients whose User-Agent is known to reject diff. Unless it is diff, such clients are also refused select:file.owners, whose results they reject.",
  },
  "search.defaultTimeoutSeconds": {
    kind: "integer",
    default: 20,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "Time limit of a search whose query has neither timeout: nor count:.",
  },
  "search.maxTimeoutSeconds": {
    kind: "integer",
    default: 60,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "Longest time limit that timeout: can set, and the limit of a query with count: and without timeout:.",
  },
  "search.concurrent": {
    kind: "integer",
    default: 64,
    min: 1,
    max: 10_000,
    unit: "searches",
    description:
      "Searches that run at the same time; each may hold up to 1 MiB of results that its client has not read.",
  },
  "search.revisionCacheBytes": {
    kind: "integer",
    default: 256 << 20,
    min: 16 << 20,
    max: 2 ** 40,
    unit: "bytes",
    description:
      "Memory for files of revisions that are not indexed. A file larger than a quarter of it is found only by name there.",
  },
  "search.warmPercent": {
    kind: "integer",
    default: 50,
    min: 0,
    max: 90,
    unit: "percent",
    description:
      "Share of the available memory into which shards are read ahead, and verified, before a search needs them. With 0 nothing is prepared ahead after a start, and the first searches and requests take longer.",
  },
  "search.queue": {
    kind: "integer",
    default: 256,
    min: 0,
    max: 100_000,
    unit: "searches",
    description: "Searches that may wait; further ones are refused with HTTP 503.",
  },
  "search.budgetScannedBytes": {
    kind: "integer",
    default: 0,
    min: 0,
    max: 2 ** 50,
    unit: "bytes",
    description:
      "Bytes of text that the searches of one user, or of one address without an account, may scan within search.budgetSeconds. A search that exceeds it is ended, and further ones are refused with HTTP 429. With 0 there is no limit. Search jobs are not counted.",
  },
  "search.budgetWorkerSeconds": {
    kind: "integer",
    default: 0,
    min: 0,
    max: 86_400,
    unit: "seconds",
    description:
      "Time of search workers that the searches of one user may take within search.budgetSeconds, like search.budgetScannedBytes.",
  },
  "search.budgetSeconds": {
    kind: "integer",
    default: 3_600,
    min: 10,
    max: 86_400,
    unit: "seconds",
    description: "Length of the sliding window of both budgets.",
  },
  "jobs.concurrent": {
    kind: "integer",
    default: 1,
    min: 1,
    max: 64,
    unit: "jobs",
    description: "Search jobs that run at the same time. Their searches yield to interactive ones.",
  },
  "jobs.countMax": {
    kind: "integer",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    unit: "jobs",
    description: "Search jobs that are kept, including those that have ended. One user may have a tenth of them.",
  },
  "jobs.bytes": {
    kind: "integer",
    default: 10 * 2 ** 30,
    min: 1 << 10,
    max: 2 ** 50,
    unit: "bytes",
    description: "Size of the results of one search job; one with more fails.",
  },
  "jobs.totalBytes": {
    kind: "integer",
    default: 40 * 2 ** 30,
    min: 1 << 10,
    max: 2 ** 50,
    unit: "bytes",
    description:
      "Size of the results and logs of all search jobs. A job that needs more room removes jobs that have ended, the oldest of the user who has most bytes first; if that is not enough, it fails.",
  },
  "jobs.exportBytes": {
    kind: "integer",
    default: 10 * 2 ** 30,
    min: 1 << 10,
    max: 2 ** 50,
    unit: "bytes",
    description:
      "Size of the CSV and Parquet files that are kept of the results of search jobs, in addition to jobs.totalBytes. The file that was not read for the longest time is removed first; it is made again when it is asked for.",
  },
  "jobs.retentionDays": {
    kind: "integer",
    default: 30,
    min: 1,
    max: 36_500,
    unit: "days",
    description: "A search job and its results are deleted this long after it has ended.",
  },
  "jobs.timeoutSeconds": {
    kind: "integer",
    default: 3_600,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "Time limit of the search of one repository in a search job.",
  },
  "precise.uploaders": {
    kind: "choice",
    default: "site-admins",
    choices: ["site-admins", "users", "nobody"],
    description:
      "Who may upload indexes of definitions and references (src code-intel upload): what is in them is shown to everybody who may see the repository. With users, all who have an account, to the repositories that they may see.",
  },
  "precise.uploadBytes": {
    kind: "integer",
    default: 2 ** 30,
    min: 1 << 10,
    max: 2 ** 40,
    unit: "bytes",
    description: "Size of one uploaded index, compressed as it is sent.",
  },
  "precise.indexBytes": {
    kind: "integer",
    default: 4 * 2 ** 30,
    min: 1 << 10,
    max: 2 ** 40,
    unit: "bytes",
    description: "Size of one uploaded index when it is decompressed.",
  },
  "precise.totalBytes": {
    kind: "integer",
    default: 20 * 2 ** 30,
    min: 1 << 10,
    max: 2 ** 50,
    unit: "bytes",
    description:
      "Size of all indexes that were made from uploads. One that needs more room replaces older ones of the same repository, root and indexer; if that is not enough, it is refused.",
  },
  "precise.keptCount": {
    kind: "integer",
    default: 10,
    min: 1,
    max: 1_000,
    unit: "indexes",
    description:
      "Uploaded indexes that are kept of a repository, for each root and indexer: those of the newest uploads. Commits near them are answered from them, too.",
  },
  "resume.countMax": {
    kind: "integer",
    default: 1_000,
    min: 1,
    max: 100_000,
    unit: "streams",
    description:
      "Resumable streams (resume=1) whose events are kept. Those that were not used for the longest time are removed.",
  },
  "resume.bytes": {
    kind: "integer",
    default: 4 * 2 ** 30,
    min: 1 << 16,
    max: 2 ** 50,
    unit: "bytes",
    description:
      "Size of the events of all resumable streams. One stream may have half of it, and ends with an error beyond that.",
  },
  "resume.retentionDays": {
    kind: "integer",
    default: 1,
    min: 1,
    max: 36_500,
    unit: "days",
    description: "A resumable stream is removed when it was not used for this long.",
  },
  "notifications.origins": {
    kind: "strings",
    default: [],
    description:
      "Origins, such as https://hooks.example.org, that may receive notifications of users' saved searches. If the list is empty, there are no notifications.",
  },
  "notifications.networks": {
    kind: "strings",
    default: [],
    description:
      "Addresses, or networks such as 10.0.0.0/8, that are not public but to which names in notifications.origins may resolve. An origin that is written with an address needs no entry.",
  },
  "notifications.countMax": {
    kind: "integer",
    default: 1_000,
    min: 1,
    max: 100_000,
    unit: "searches",
    description: "Largest number of saved searches with notifications.",
  },
  "notifications.intervalSeconds": {
    kind: "integer",
    default: 5,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description:
      "Saved searches are evaluated this long after a repository has changed, and then cover all changes until that moment.",
  },
  "notifications.timeoutSeconds": {
    kind: "integer",
    default: 60,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "Time limit of the evaluation of one saved search. Only files that have changed are searched.",
  },
  "notifications.queueBytes": {
    kind: "integer",
    default: 64 << 20,
    min: 1 << 20,
    max: 2 ** 40,
    unit: "bytes",
    description:
      "Size of the notifications that wait to be delivered. While there are more, saved searches are not evaluated, and cover more changes later.",
  },
  "notifications.attempts": {
    kind: "integer",
    default: 12,
    min: 1,
    max: 100,
    unit: "attempts",
    description:
      "A notification that is not accepted is given up after so many attempts: with 12, after 15 hours, because the time between two attempts grows to three hours.",
  },
  "notifications.retrySeconds": {
    kind: "integer",
    default: 10,
    min: 1,
    max: 10_800,
    unit: "seconds",
    description:
      "Time until the second attempt to deliver a notification; before each further one, three times as long.",
  },
  "mail.host": {
    kind: "string",
    default: "",
    pattern: "^[A-Za-z0-9.:_-]{0,255}$",
    allowed: "the name or address of a host, or nothing",
    description: "Mail server by which notifications of saved searches are sent. Without one there is no mail.",
  },
  "mail.port": {
    kind: "integer",
    default: 587,
    min: 1,
    max: 65_535,
    unit: "port",
    description: "Port of the mail server: usually 587 with mail.security starttls, 465 with tls, 25 within a network.",
  },
  "mail.security": {
    kind: "choice",
    default: "starttls",
    choices: ["starttls", "tls", "none"],
    description:
      "How the connection to the mail server is encrypted: by STARTTLS, which the server must offer, or from its beginning. With none it is not, and no password is sent.",
  },
  "mail.user": {
    kind: "string",
    default: "",
    pattern: "^[^\\s]{0,320}$",
    allowed: "a name, or nothing",
    description: "With which the daemon signs in to the mail server.",
  },
  "mail.password": {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    description: "Where to read the password of mail.user: a file or a systemd credential. It is read for each mail.",
  },
  "mail.authorities": {
    kind: "string",
    default: "",
    pattern: "^(/.+)?$",
    allowed: "an absolute path, or nothing",
    description:
      "File with certificates, in PEM, of authorities that are trusted for the mail server besides the public ones.",
  },
  "mail.from": {
    kind: "string",
    default: "",
    pattern: "^[^\\s]{0,320}$",
    allowed: "an address, or nothing",
    description: "Address of the sender, such as trawl@example.org.",
  },
  "mail.recipients": {
    kind: "strings",
    default: [],
    description:
      "Addresses, and domains such as @example.org, to which users may let notifications be sent. If the list is empty, there are none by mail.",
  },
  "search.stallSeconds": {
    kind: "integer",
    default: 60,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description: "A client that reads nothing for this long is disconnected.",
  },
  "graphql.timeoutSeconds": {
    kind: "integer",
    default: 60,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description:
      "Time limit of one GraphQL request; fields that are not resolved by then are errors, the others are answered.",
  },
  "rateLimits.graphQLMaxDepth": {
    kind: "integer",
    default: 30,
    min: 0,
    max: 1_000_000,
    unit: "levels",
    description: "Maximum depth of nested objects in one GraphQL query; 0 for no limit.",
  },
  "rateLimits.graphQLMaxFieldCount": {
    kind: "integer",
    default: 500_000,
    min: 0,
    max: 2 ** 31 - 1,
    unit: "fields",
    description:
      "Maximum number of fields in the answer to one GraphQL query, computed from its `first` and `last`; 0 for no limit.",
  },
  "rateLimits.graphQLMaxAliases": {
    kind: "integer",
    default: 500,
    min: 0,
    max: 1_000_000,
    unit: "aliases",
    description: "Maximum number of aliases in one GraphQL query; 0 for no limit.",
  },
  "rateLimits.graphQLMaxDuplicateFieldCount": {
    kind: "integer",
    default: 500,
    min: 0,
    max: 1_000_000,
    unit: "fields",
    description: "Maximum number of times that one GraphQL query may select the same field; 0 for no limit.",
  },
  "rateLimits.graphQLMaxUniqueFieldCount": {
    kind: "integer",
    default: 500,
    min: 0,
    max: 1_000_000,
    unit: "fields",
    description: "Maximum number of different fields that one GraphQL query may select; 0 for no limit.",
  },
  "fleet.node": {
    kind: "string",
    default: "",
    pattern: "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$",
    allowed: "up to 63 of a-z, 0-9 and -, or nothing",
    description: "Name of this node in its fleet. Nothing for a single host.",
  },
  "fleet.id": {
    kind: "string",
    default: "",
    pattern: "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$",
    allowed: "up to 63 of a-z, 0-9 and -, or nothing",
    description: "Name of the fleet, which the certificates of its nodes contain. Needed with fleet.node.",
  },
  "fleet.nodes": {
    kind: "strings",
    default: [],
    description:
      "All nodes of the fleet as NAME=HOST:PORT, this one among them, with the addresses at which the others reach their fleet.listen. The same list in the same order on all of them: add nodes at its end.",
  },
  "fleet.replicas": {
    kind: "strings",
    default: [],
    description:
      "Nodes that have the same repositories, as NAME,NAME: searches ask the first one of them that is there, and go on at another one if it is lost. The same list on all nodes. Nothing if each repository is on one node.",
  },
  "fleet.database": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "postgresql://USER@HOST:PORT/DATABASE, or nothing",
    description:
      "Database of the fleet, without the password. Each node then has the whole index; one of them fetches and indexes, the others follow and take over from it. Instead of fleet.nodes.",
  },
  "fleet.databaseCredential": {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    description:
      "Where to read the password for fleet.database: a file or a systemd credential. It is read for each connection. Nothing if none is needed.",
  },
  "fleet.databaseAuthority": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "a path, or nothing",
    description:
      "File with the certificates of the authorities that the certificate of the database may be of, in PEM. Nothing for those of the system.",
  },
  "fleet.objects": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "https://HOST/BUCKET?region=REGION, file:///FOLDER, or nothing",
    description:
      "Where the nodes of a fleet with a database find the shards of one another: a bucket of an S3-compatible store, or a folder that all nodes have mounted. Needed with fleet.database.",
  },
  "fleet.objectsCredential": {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    description:
      "Where to read ACCESS_KEY:SECRET_KEY for the bucket of fleet.objects: a file or a systemd credential. It is read for each request.",
  },
  "fleet.leaseSeconds": {
    kind: "integer",
    default: 10,
    min: 2,
    max: 600,
    unit: "seconds",
    description:
      "After this time without a word from the node that fetches and indexes, another node takes over. The same on all nodes.",
  },
  "fleet.listen": {
    kind: "string",
    default: "",
    pattern: "^((\\[[0-9A-Fa-f:.]+\\]|[^:\\s]+):[0-9]{1,5})?$",
    allowed: "HOST:PORT, or nothing for the address of this node in fleet.nodes",
    description: "Address at which this node answers other nodes, with TLS, and nobody else.",
  },
  "fleet.address": {
    kind: "string",
    default: "",
    pattern: "^((\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+):[0-9]{1,5})?$",
    allowed: "HOST:PORT, or nothing for fleet.listen",
    description:
      "Address at which other nodes reach fleet.listen of this one, in a fleet with a database and several partitions.",
  },
  "fleet.certificate": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "a path, or nothing",
    description:
      "File with the certificate of this node in PEM. Its subject alternative name must be URI:trawl://FLEET/NODE. Needed with fleet.node.",
  },
  "fleet.key": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "a path, or nothing",
    description: "File with the private key of this certificate in PEM. Needed with fleet.node.",
  },
  "fleet.authority": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "a path, or nothing",
    description:
      "File with the certificate of the authority that has signed those of all nodes, in PEM. Use one for nothing else. Needed with fleet.node.",
  },
  "mcp.enabled": {
    kind: "boolean",
    default: true,
    description: "Offer tools to assistants at /.api/mcp, by the Model Context Protocol.",
  },
  "mcp.tools.disabled": {
    kind: "strings",
    default: [],
    description: "Tools that are not offered to assistants, such as diff_search.",
  },
  "mcp.registration": {
    kind: "boolean",
    default: true,
    description:
      "Let assistants introduce themselves, by dynamic registration or by a document of their own, so that users connect them by the address of the tools alone.",
  },
  "mcp.clientNetworks": {
    kind: "strings",
    default: [],
    description:
      "Addresses and networks, such as 10.0.0.0/8, that are not public and from which documents may be read by which assistants describe themselves.",
  },
  "index.workers": {
    kind: "integer",
    default: availableParallelism(),
    defaultText: "the number of cores",
    sample: 4,
    min: 1,
    max: 256,
    unit: "threads",
    description: "Threads that fetch and index, at low priority.",
  },
  "index.maxHeapBytes": {
    kind: "integer",
    default: 384 << 20,
    min: 32 << 20,
    max: 2 ** 35,
    unit: "bytes",
    description:
      "JavaScript heap limit of each indexing thread; a repository of a million files needs 300 MiB. A repository that needs more is not indexed.",
  },
  "index.maxFileBytes": {
    kind: "integer",
    default: 64 << 20,
    min: 1,
    max: 1 << 30,
    unit: "bytes",
    description: "Content of larger files is not indexed; they are still found by name.",
  },
  "index.largeFiles": {
    kind: "strings",
    default: [],
    description: "Globs of paths, such as **/generated/*.sql, that are indexed whatever their size.",
  },
  "index.maxTrigramCount": {
    kind: "integer",
    default: 100_000,
    min: 1,
    max: 1 << 21,
    unit: "distinct trigrams",
    description:
      "Content with more different trigrams is treated as data and not indexed; the file is still found by name.",
  },
  "index.historyBytes": {
    kind: "integer",
    default: 1 << 30,
    min: 0,
    max: 2 ** 40,
    unit: "bytes",
    description:
      "Text of the history of each repository that is indexed, distinct changed lines and messages, the newest commits first; 0 for none. The history of git itself (82,000 commits) has 115 MB. Older commits are found too, but are read from git by each search.",
  },
  "index.symbols": {
    kind: "boolean",
    default: true,
    description: "Whether the names of functions, types and the like are extracted by ctags, for type:symbol.",
  },
  "index.ctagsCommand": {
    kind: "string",
    default: "ctags",
    pattern: "^[^\\0]+$",
    allowed: "the name or the path of a program",
    description: "Universal Ctags, which extracts symbols. Without it everything but symbols works.",
  },
  "sync.intervalSeconds": {
    kind: "integer",
    default: 60,
    min: 1,
    max: 31_536_000,
    unit: "seconds",
    description:
      "Shortest time between two fetches of one repository; the actual time grows while nothing changes there.",
  },
  "sync.maxIntervalSeconds": {
    kind: "integer",
    default: 3600,
    min: 1,
    max: 31_536_000,
    unit: "seconds",
    description: "Longest time between two fetches of one repository.",
  },
  "sync.acceptEmptyHours": {
    kind: "integer",
    default: 24,
    min: 0,
    max: 87_600,
    unit: "hours",
    description:
      "A remote that had branches and lists none any more, or has lost its default branch, is believed when it has answered so for this long. Until then, and with 0 until `trawl repo sync NAME --accept-empty`, the index is kept and the sync fails.",
  },
  "sync.removalGraceDays": {
    kind: "integer",
    default: 7,
    min: 0,
    max: 3650,
    unit: "days",
    description:
      "Time until a repository that was removed from the configuration is deleted. It is hidden at once, and restored if it is listed again in time.",
  },
  "sync.timeoutSeconds": {
    kind: "integer",
    default: 300,
    min: 1,
    max: 86_400,
    unit: "seconds",
    description:
      "A fetch without progress for this long is aborted: no object count grows, and less than 1,000 bytes per second arrive.",
  },
  "git.home": {
    kind: "string",
    default: "",
    pattern: "^(/.*)?$",
    allowed: "an absolute path, or nothing",
    description: "HOME of git during fetches, where it looks for .netrc and for the store of a credential helper.",
  },
  "git.sshCommand": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "a command, or nothing for ssh in batch mode",
    description: "Command that git runs instead of ssh.",
  },
  "git.credentialHelper": {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "the name of a helper, such as store, or nothing",
    description: "git's credential.helper for http(s).",
  },
  "git.followRedirects": {
    kind: "boolean",
    default: false,
    description:
      "Follow a redirect at the start of a fetch over http(s), for repositories that you have configured or added by hand. A redirect may lead into the internal network.",
  },
  "git.networks": {
    kind: "strings",
    default: [],
    description:
      "Addresses, or networks such as 10.0.0.0/8, that are not public but from which repositories may be fetched that site admins add on the web, or that a connection " +
      "names with any host (hosts: *). The host of a connection, those in its hosts, and what is written in repositories need no entry.",
  },
  "git.maxFetchSeconds": {
    kind: "integer",
    default: 21_600,
    min: 1,
    max: 604_800,
    unit: "seconds",
    description: "A fetch that takes longer in total is aborted.",
  },
  "git.maxFetchBytes": {
    kind: "integer",
    default: 2 ** 36,
    min: 1 << 20,
    max: 2 ** 50,
    unit: "bytes",
    description: "A fetch that receives more is aborted.",
  },
  "git.maxLfsBytes": {
    kind: "integer",
    default: 2 ** 30,
    min: 0,
    max: 2 ** 45,
    unit: "bytes",
    description:
      "For repositories with lfs: contents of Git LFS that the mirror of one repository keeps. Those of no indexed commit make room for others; the rest is left out.",
  },
  "git.maxLfsPointers": {
    kind: "integer",
    default: 100_000,
    min: 1,
    max: 200_000,
    unit: "pointers",
    description:
      "For repositories with lfs: different pointers of one repository that are looked after. Files with others are found by their path only.",
  },
  "git.maxMemoryBytes": {
    kind: "integer",
    default: 2 ** 32,
    min: 1 << 28,
    max: 2 ** 45,
    unit: "bytes",
    description:
      "Memory limit of each git process that fetches or repacks. A repository of 850,000 objects needs less than 512 MiB.",
  },
  "git.reserveBytes": {
    kind: "integer",
    default: 1 << 30,
    min: 0,
    max: 2 ** 45,
    unit: "bytes",
    description: "Fetching stops when less disk space is free; on a small disk, when less than a twentieth is free.",
  },
  "webhooks.secrets": {
    kind: "map",
    default: {},
    description:
      "Webhooks by which code hosts announce a push at /.api/webhooks/ID: for each ID its secret, of at least 16 characters, or " +
      "where to read it: file:/PATH, or credential:NAME for a systemd credential.",
  },
  "metrics.listen": {
    kind: "string",
    default: "",
    pattern: "^((\\[[0-9A-Fa-f:.]+\\]|[^:\\s]+):[0-9]{1,5})?$",
    allowed: "HOST:PORT, port 0 for a free one, or nothing",
    description:
      "Address of a second HTTP server, for nothing but /metrics, without a token: everybody who reaches it may read them. The address of listen then no longer serves them.",
  },
  "tracing.endpoint": {
    kind: "string",
    default: "",
    pattern: "^(https?://[^\\s#]+)?$",
    allowed: "http(s)://HOST:PORT/PATH, or nothing",
    description:
      "Where the span of each search is sent, by OTLP over HTTP with JSON, such as http://127.0.0.1:4318/v1/traces. Spans of a client that sends traceparent belong to its trace; if it has not sampled the trace, there is none.",
  },
  "tracing.credential": {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    description:
      "Where to read what tracing.endpoint asks for: a file or a systemd credential with a header, such as x-api-key: KEY, or with a token, which is sent as Authorization: Bearer TOKEN. It is read for each batch.",
  },
  "log.level": {
    kind: "choice",
    default: "info",
    choices: logLevels,
    description: "Lowest level of log lines that are written.",
  },
  "log.format": {
    kind: "choice",
    default: "auto",
    choices: logFormats,
    description:
      "Format of the log: readable lines, or one JSON object per line. With auto, readable on a terminal and in the systemd journal, and JSON elsewhere.",
  },
  "log.slowSearchMilliseconds": {
    kind: "integer",
    default: 10_000,
    min: 0,
    max: 86_400_000,
    unit: "milliseconds",
    description:
      "A search that takes as long is logged, with its user, address, cost and the hash of its query; at most 60 in a minute. With 0 none is. Search jobs and notifications are not logged.",
  },
  "log.costlySearchMilliseconds": {
    kind: "integer",
    default: 30_000,
    min: 0,
    max: 86_400_000,
    unit: "milliseconds",
    description: "A search that takes as much time of the search workers is logged, too. With 0 none is.",
  },
  "log.queries": {
    kind: "boolean",
    default: false,
    description: "Write the text of the query into the lines of slow and costly searches, in addition to its hash.",
  },
} as const satisfies Record<string, OptionRow>;

/** Of a repository, and of a connection for its repositories. */
export const submoduleRows = {
  submodules: {
    kind: "boolean",
    default: false,
    description:
      "Whether the contents of submodules, at the commits to which the repository points, are searchable below their paths. Whoever reads the repository reads them.",
  },
  submodulesFrom: {
    kind: "strings",
    default: [],
    description:
      "Where submodules may be fetched from, in addition to the repository's own host: hosts such as git.example.org or git.example.org:8443 (https and ssh) or http://git.example.org, * for all with public addresses or those in git.networks (https " +
      "only, without credentials; http://* also for http), and absolute paths of folders on this machine. The others are left out.",
  },
} as const satisfies Record<string, OptionRow>;

/** The properties of an item of `repositories`, in the same form. */
export const repositoryTable = {
  name: {
    kind: "string",
    default: "",
    pattern: "^(?![-/.])(?!.*(?:/|/\\.+)(?:/|$))[^\\s@:\\\\\\u0000-\\u001f\\u007f]{1,255}$",
    allowed: "a name without spaces and @ : \\, not beginning with - / .",
    sample: "github.com/owner/name",
    description: "Name in results and in repo: filters.",
  },
  url: {
    kind: "string",
    default: "",
    pattern: "^(?!-)[^\\s\\u0000-\\u001f]+$",
    allowed: "a local path, file://, http(s)://, ssh:// or git@host:path",
    sample: "https://github.com/owner/name",
    description: "URL that it is fetched from.",
  },
  credential: {
    kind: "string",
    default: "",
    pattern: secretSourcePattern,
    allowed: "file:/PATH, or credential:NAME",
    description:
      "Where to read the token, or USER:PASSWORD, for an http(s) URL: a file or a systemd credential. It is read at each fetch.",
  },
  branches: { kind: "strings", default: [], description: "Branches to index in addition to the default branch." },
  lfs: {
    kind: "boolean",
    default: false,
    description: "Whether files in Git LFS are searched and shown with their contents instead of their pointers.",
  },
  fork: { kind: "boolean", default: false, description: "A fork: excluded from searches without fork:yes." },
  archived: { kind: "boolean", default: false, description: "Archived: excluded from searches without archived:yes." },
  private: {
    kind: "boolean",
    default: false,
    description: "Visible only to its readers and to site admins, and found with visibility:private.",
  },
  readers: {
    kind: "strings",
    default: [],
    description: "Names of users and organizations that may see the repository while it is private.",
  },
  stars: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 2 ** 31 - 1,
    unit: "stars",
    description: "Repositories with more stars come first.",
  },
  description: {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "any text",
    description: "Shown with results, and found by repo:has.description().",
  },
  topics: { kind: "strings", default: [], description: "Shown with results, and found by repo:has.topic()." },
  metadata: {
    kind: "map",
    default: {},
    description: "Keys with a string or null, shown with results, and found by repo:has.meta().",
  },
  history: {
    kind: "string",
    default: "all",
    pattern: historyScopePattern,
    allowed: "all, off, since YEAR-MONTH-DAY, or a number of commits such as 10000 commits",
    description:
      "Which commits are indexed, up to index.historyBytes; searches read the others from git, which is slower.",
  },
  interval: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 31_536_000,
    unit: "seconds",
    description: "Fixed time between two fetches; 0 adapts it to how often the repository changes.",
  },
  ...submoduleRows,
} as const satisfies Record<string, OptionRow>;

export const repositoryRequired = ["name", "url"] as const;

/** Rows of `repositoryTable` that `trawl repo set` changes. */
export const attributeKeys = [
  "fork",
  "archived",
  "private",
  "readers",
  "stars",
  "description",
  "topics",
  "metadata",
  "history",
] as const;

/** The properties of an item of `contexts`, in addition to its list of repositories. */
export const contextTable = {
  name: {
    kind: "string",
    default: "",
    pattern: "^(?!global$)[A-Za-z0-9_\\-/.]{1,32}$",
    allowed: "1 to 32 letters, digits and _ - / ., and not global",
    sample: "backend",
    description: "Name that context: takes.",
  },
  description: {
    kind: "string",
    default: "",
    pattern: "^[^]{0,1024}$",
    allowed: "at most 1024 characters",
    description: "Shown to people.",
  },
  public: {
    kind: "boolean",
    default: true,
    description: "If false, the context is omitted from lists; anybody who knows its name may search in it.",
  },
  query: {
    kind: "string",
    default: "",
    pattern: "",
    allowed: "a string",
    description:
      "Filters that define the context, such as repo:^github\\.com/acme/ -file:^vendor/, instead of a list of repositories.",
  },
} as const satisfies Record<string, OptionRow>;

/** The properties of an item of a context's `repositories`. */
export const contextRepositoryTable = {
  name: {
    kind: "string",
    default: "",
    pattern: ".",
    allowed: "the name of a repository",
    sample: "github.com/owner/name",
    description: "Its name.",
  },
  revisions: {
    kind: "strings",
    default: [],
    description: "Revisions as after @ in repo:; empty for the default branch.",
  },
} as const satisfies Record<string, OptionRow>;

/** Maximum length of a revision in a context's list, in characters. */
export const contextRevisionLengthMax = 255;

export type OptionRow = StringRow | IntegerRow | BooleanRow | ChoiceRow | StringsRow | MapRow;

interface Described {
  readonly description: string;
  /** Describes the default in words if it depends on the host. */
  readonly defaultText?: string;
  /** The value that the sample shows instead of the default. */
  readonly sample?: string | number;
}

interface StringRow extends Described {
  readonly kind: "string";
  readonly default: string;
  /** What a value must match; `allowed` describes it in words. */
  readonly pattern: string;
  readonly allowed: string;
}

interface IntegerRow extends Described {
  readonly kind: "integer";
  readonly default: number;
  /** Both limits are inclusive. */
  readonly min: number;
  readonly max: number;
  readonly unit: string;
}

interface BooleanRow extends Described {
  readonly kind: "boolean";
  readonly default: boolean;
}

interface ChoiceRow extends Described {
  readonly kind: "choice";
  readonly default: string;
  readonly choices: readonly string[];
}

interface StringsRow extends Described {
  readonly kind: "strings";
  readonly default: readonly string[];
}

interface MapRow extends Described {
  readonly kind: "map";
  readonly default: Readonly<Record<string, string | null>>;
}

type ValueOf<Row extends OptionRow> = Row extends IntegerRow
  ? number
  : Row extends BooleanRow
    ? boolean
    : Row extends ChoiceRow
      ? Row["choices"][number]
      : Row extends StringsRow
        ? readonly string[]
        : Row extends MapRow
          ? Readonly<Record<string, string | null>>
          : string;

type Table = typeof optionTable;
export type OptionKey = keyof Table;
type GroupOf<Key> = Key extends `${infer Group}.${string}` ? Group : never;
type TopKey = Exclude<OptionKey, `${string}.${string}`>;

/** All options with their effective values: `options.search.defaultCount`. */
export type OptionValues = { readonly [Key in TopKey]: ValueOf<Table[Key]> } & {
  readonly [Group in GroupOf<OptionKey>]: GroupValues<Group>;
};

type GroupValues<Group extends string> = {
  readonly [Key in OptionKey as Key extends `${Group}.${infer Name}` ? Name : never]: ValueOf<Table[Key]>;
};

/** An item of `repositories` in the file, with every property. */
export type RepositoryOptions = {
  readonly [Key in keyof typeof repositoryTable]: ValueOf<(typeof repositoryTable)[Key]>;
};

/**
 * The unresolved options: the command line, and the name of the configuration file. Kept so that they can be resolved
 * again after the file has changed.
 */
export interface TypedOptions {
  readonly configFile: string | undefined;
  /**
   * Values of `TRAWL_DATA`, `--data`, `--listen` and `--set`, by key: they override the file, and later ones override
   * earlier ones.
   */
  readonly overrides: readonly (readonly [key: string, text: string])[];
  /** Values of `--repository`: `NAME=URL` or a URL. */
  readonly repositories: readonly string[];
}

/** The effective options, with absolute paths. */
export type ResolvedOptions = OptionValues & {
  readonly typed: TypedOptions;
  readonly listenHost: string;
  readonly listenPort: number;
  readonly repositories: readonly RepositoryConfig[];
  readonly contexts: readonly SearchContext[];
  readonly connections: readonly ConnectionConfig[];
  readonly identityProviders: readonly ProviderConfig[];
};

/** The group of a key, and the name in it; a key without a dot is in no group. */
export function splitKey(key: string): { readonly group: string | undefined; readonly name: string } {
  const at = key.indexOf(".");
  return at < 0 ? { group: undefined, name: key } : { group: key.slice(0, at), name: key.slice(at + 1) };
}

/** Describes the allowed values of a row, for error messages and for the sample. */
export function allowedText(row: OptionRow): string {
  switch (row.kind) {
    case "string":
      return row.allowed;
    case "integer":
      return `a whole number from ${row.min} to ${row.max} (${row.unit})`;
    case "boolean":
      return "true or false";
    case "choice":
      return row.choices.map((choice) => JSON.stringify(choice)).join(", ");
    case "strings":
      return "a list of strings";
    case "map":
      return "an object whose values are strings or null";
  }
}
