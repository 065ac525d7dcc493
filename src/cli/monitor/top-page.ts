import type { RunningSummary } from "../../search/root/running-search.js";
import { visible } from "../terminal/output.js";
import type { Readings, Sample } from "./samples.js";

/** The page that `trawl top` shows. */
export interface TopPage {
  /** Undefined for averages since the start of the daemon. */
  readonly before: Sample | undefined;
  readonly now: Sample;
  /** The Unix time, in seconds. */
  readonly timeSeconds: number;
  readonly columns: number;
  readonly rows: number;
}

/** A line of the page; the first ones of a paragraph, and what is wrong, stand out on a terminal. */
export interface TopLine {
  readonly text: string;
  readonly kind: "plain" | "heading" | "problem";
}

const unknown = "-";

/** The lines of the page, none of which is longer than the terminal is wide. */
export function topPage(page: TopPage): readonly TopLine[] {
  const { now, columns, rows } = page;
  const rates = new Rates(page);
  const m = now.metrics;
  const lines: TopLine[] = [
    heading(pageTitle(page)),
    ...searchLines(m, rates),
    plain(
      "Requests",
      rates.perSecond("trawl_http_requests_total"),
      count(m.sum("trawl_http_requests_open"), "open"),
      `5xx ${rates.perSecond("trawl_http_requests_total", 'status="5xx"')}`,
      `streams ${shortNumber(m.sum("trawl_streams_open"))}`,
      `sent ${rates.bytesPerSecond("trawl_stream_sent_bytes_total")}`,
    ),
    ...indexLines(m, page.timeSeconds),
    ...processLines(m, rates),
  ];
  lines.push(...runningLines(now, columns, rows - lines.length));
  return lines.map(({ text, kind }) => ({ text: text.slice(0, columns), kind }));
}

function pageTitle({ before, now, timeSeconds }: TopPage): string {
  const m = now.metrics;
  const started = m.sum("process_start_time_seconds");
  const span =
    before === undefined ? "averages since the start" : `averages of ${Math.round((now.atMs - before.atMs) / 1000)} s`;
  const version = m.label("trawl_build_info", "version");
  return `trawl ${version}, Node ${m.label("trawl_build_info", "node")}, up ${duration(timeSeconds - started)}; ${span}`;
}

function searchLines(m: Readings, rates: Rates): readonly TopLine[] {
  const latency = (lane: string): string => {
    const [half, most] = [0.5, 0.99].map((share) => rates.quantile("trawl_search_seconds", share, `lane="${lane}"`));
    return `${lane.padEnd(11)} ${half === unknown ? "none" : `half in ${half}, 99 of 100 in ${most}`}`;
  };
  const outcome = (name: string): string => `${name} ${rates.perSecond("trawl_searches_total", `outcome="${name}"`)}`;
  const refused = rates.number("trawl_searches_total", 'outcome="refused"');
  return [
    plain(
      "Searches",
      count(m.sum("trawl_searches_running"), "running"),
      count(m.sum("trawl_searches_queued"), "waiting"),
      rates.perSecond("trawl_searches_total"),
      `scanned ${rates.bytesPerSecond("trawl_search_scanned_bytes_total")}`,
    ),
    { ...plain("", ...["timeout", "failed", "refused"].map(outcome)), kind: refused > 0 ? "problem" : "plain" },
    plain("Latency", latency("interactive")),
    plain("", latency("exhaustive")),
  ];
}

function indexLines(m: Readings, timeSeconds: number): readonly TopLine[] {
  const queue = (name: string): string => `${name} ${shortNumber(m.sum("trawl_queue_length", `queue="${name}"`))}`;
  const slices = ["slice_interactive", "slice_exhaustive"].reduce(
    (sum, name) => sum + m.sum("trawl_queue_length", `queue="${name}"`),
    0,
  );
  const failing = m.sum("trawl_repositories_failing");
  const corrupt = m.sum("trawl_index_corrupt_shards");
  const free = m.sum("trawl_disk_free_bytes");
  const lastSync = m.sum("trawl_sync_last_success_timestamp_seconds");
  const repositories = (state: string): string =>
    count(m.sum("trawl_repositories", `state="${state}"`), state === "searchable" ? "searchable" : state);
  return [
    plain(
      "Index",
      `documents ${shortNumber(m.sum("trawl_index_documents"))}`,
      `text ${bytes(m.sum("trawl_index_content_bytes"))}`,
      `shards ${shortNumber(m.sum("trawl_index_shards"))}`,
    ),
    plain("Queues", ...["sync", "ingest", "read"].map(queue), `slices ${shortNumber(slices)}`),
    {
      ...plain(
        "Repositories",
        repositories("searchable"),
        repositories("pending"),
        count(failing, "failing"),
        `last sync ${lastSync === 0 ? unknown : `${duration(timeSeconds - lastSync)} ago`}`,
      ),
      kind: failing > 0 ? "problem" : "plain",
    },
    {
      ...plain(
        "Disk",
        `${bytes(free)} free of ${bytes(m.sum("trawl_disk_size_bytes"))}`,
        `shards ${bytes(m.sum("trawl_index_shard_bytes"))}`,
        `damaged ${shortNumber(corrupt)}`,
      ),
      kind: corrupt > 0 || free < m.sum("trawl_disk_reserve_bytes") ? "problem" : "plain",
    },
    plain(
      "Background",
      `jobs ${shortNumber(m.sum("trawl_jobs", 'state="processing"'))} running, ${shortNumber(m.sum("trawl_jobs", 'state="queued"'))} queued`,
      `notifications ${shortNumber(m.sum("trawl_notifications_waiting"))} waiting`,
    ),
  ];
}

function processLines(m: Readings, rates: Rates): readonly TopLine[] {
  const heap = `${bytes(m.sum("nodejs_heap_size_used_bytes"))} of ${bytes(m.sum("nodejs_heap_size_total_bytes"))}`;
  const delaySeconds = m.sum("trawl_event_loop_delay_max_seconds");
  return [
    plain(
      "Memory",
      `resident ${bytes(m.sum("process_resident_memory_bytes"))}`,
      `heap ${heap}`,
      `outside it ${bytes(m.sum("nodejs_external_memory_bytes"))}`,
    ),
    plain(
      "Process",
      `CPU ${rates.percent("process_cpu_seconds_total")}`,
      `loop delay up to ${seconds(delaySeconds)}`,
      `descriptors ${shortNumber(m.sum("process_open_fds"))}`,
      `lost threads ${shortNumber(m.sum("trawl_workers_lost_total"))}`,
    ),
  ];
}

/** Widths of the columns before the query. */
const widths = { age: 7, lane: 12, who: 16, worker: 8, scanned: 9, matches: 9 } as const;

function runningLines({ searches }: Sample, columns: number, room: number): readonly TopLine[] {
  if (searches === undefined || searches.length === 0 || room < 3) return [];
  const title = row(
    { age: "AGE", lane: "LANE", who: "USER OR ADDRESS", worker: "WORKERS", scanned: "SCANNED", matches: "MATCHES" },
    "QUERY",
  );
  // The last line tells how many are not shown.
  const shown = searches.length > room - 2 ? searches.slice(0, Math.max(0, room - 3)) : searches;
  const left = searches.length - shown.length;
  return [
    { text: "", kind: "plain" },
    heading(title),
    ...shown.map((search) => ({ text: describe(search).slice(0, columns), kind: "plain" as const })),
    ...(left === 0 ? [] : [{ text: `and ${left} more`, kind: "plain" as const }]),
  ];
}

function describe({ durationMs, lane, user, from, workerMs, scannedBytes, matchCount, query }: RunningSummary): string {
  const cells = {
    age: seconds(durationMs / 1000),
    lane,
    who: visible(user === "" ? from : user),
    worker: seconds(workerMs / 1000),
    scanned: bytes(scannedBytes),
    matches: shortNumber(matchCount),
  };
  return row(cells, visible(query));
}

function row(cells: Readonly<Record<keyof typeof widths, string>>, query: string): string {
  const columns = (Object.keys(widths) as (keyof typeof widths)[]).map((name) => {
    const width = widths[name];
    const text = cells[name].slice(0, width - 1);
    return name === "lane" || name === "who" ? text.padEnd(width) : `${text.padStart(width - 1)} `;
  });
  return columns.join("") + query;
}

function heading(text: string): TopLine {
  return { text, kind: "heading" };
}

function plain(name: string, ...cells: readonly string[]): TopLine {
  return { text: `${name.padEnd(13)}${cells.join("  ")}`, kind: "plain" };
}

/** Differences between two samples, or sums since the start. */
class Rates {
  readonly #before: Readings | undefined;
  readonly #now: Readings;
  readonly #spanSeconds: number;

  constructor({ before, now, timeSeconds }: TopPage) {
    const started = now.metrics.sum("process_start_time_seconds");
    // Counters begin again when the daemon is restarted.
    const isSame = before !== undefined && before.metrics.sum("process_start_time_seconds") === started;
    this.#before = isSame ? before.metrics : undefined;
    this.#now = now.metrics;
    this.#spanSeconds = isSame ? (now.atMs - before.atMs) / 1000 : timeSeconds - started;
  }

  number(name: string, ...labels: readonly string[]): number {
    return this.#now.sum(name, ...labels) - (this.#before?.sum(name, ...labels) ?? 0);
  }

  perSecond(name: string, ...labels: readonly string[]): string {
    return `${shortNumber(this.#each(this.number(name, ...labels)))}/s`;
  }

  bytesPerSecond(name: string): string {
    return `${bytes(this.#each(this.number(name)))}/s`;
  }

  percent(name: string): string {
    return `${Math.round(100 * this.#each(this.number(name)))} %`;
  }

  /** The bound of the bucket that has this share; below it, for the first. */
  quantile(name: string, share: number, label: string): string {
    const before = new Map(this.#before?.buckets(name, label) ?? []);
    const counts = this.#now.buckets(name, label).map(([upTo, n]) => [upTo, n - (before.get(upTo) ?? 0)] as const);
    const total = counts.at(-1)?.[1] ?? 0;
    if (total === 0) return unknown;
    const upTo = counts.find(([, n]) => n >= share * total)?.[0] ?? Infinity;
    const largest = counts.at(-2)?.[0] ?? 0;
    return upTo === Infinity ? `> ${seconds(largest)}` : `< ${seconds(upTo)}`;
  }

  #each(sum: number): number {
    return this.#spanSeconds <= 0 ? 0 : sum / this.#spanSeconds;
  }
}

function count(value: number, what: string): string {
  return `${shortNumber(value)} ${what}`;
}

const suffixes = ["", "k", "M", "G", "T", "P"] as const;

/** At most five characters with one suffix for each factor of a thousand. */
export function shortNumber(value: number): string {
  return scaled(value, 1000);
}

/** Binary units, as everywhere in the daemon. */
export function bytes(value: number): string {
  const text = scaled(value, 1024);
  return /[a-zA-Z]$/.test(text) ? `${text.slice(0, -1)} ${text.slice(-1).toUpperCase()}B` : `${text} B`;
}

function scaled(value: number, factor: number): string {
  let at = 0;
  let left = value;
  while (Math.abs(left) >= factor && at < suffixes.length - 1) {
    left /= factor;
    at++;
  }
  const isWhole = Number.isInteger(value) && at === 0;
  return `${isWhole || Math.abs(left) >= 100 ? Math.round(left) : left.toFixed(1)}${suffixes[at]}`;
}

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return value < 60 ? `${Number(value.toFixed(1))} s` : duration(value);
}

/** The two largest units. */
export function duration(totalSeconds: number): string {
  const whole = Math.max(0, Math.round(totalSeconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86_400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}
