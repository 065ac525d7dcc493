import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Repository } from "../../model/repository.js";
import type { HistoryBase } from "../../model/search-request.js";
import type { FoundCommit } from "../../protocol/commit-page.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { Resolution } from "../repositories/repository-resolver.js";
import { chooseHistories, type HistoryChoice } from "./history-choice.js";
import type { HistoryContext } from "./history-context.js";
import { mergePages, type ResultPages, readHistory } from "./read-history.js";

/** Repositories whose search begins before it is their turn. */
const lookAheadCount = 3;

/** Where the results of histories are counted and sent. */
export interface HistoryResults {
  /** Adds a commit or a diff; it is sent by `sendCommits` at the latest. */
  addCommit(found: FoundCommit, repositoryId: number): void;
  sendCommits(): void;
  /** The repository is a result itself. */
  addRepository(repositoryId: number, optionsIndex: number): void;
  /** The results that follow are of this repository. */
  begin?: ((repository: Repository) => void) | undefined;
}

/** The search to which the histories belong. */
export interface HistoryOwner {
  readonly context: HistoryContext;
  readonly results: HistoryResults;
  /** False if the client has to read before more results are sent. */
  readonly hasRoom: () => boolean;
  readonly onParked: () => void;
  readonly onFailure: (repository: string, reason: string) => void;
  /** Undefined unless only new commits are searched. */
  readonly base: HistoryBase | undefined;
}

/**
 * Searches histories, one repository after another, so that the order of results is the same in every run; the next
 * repositories are prepared meanwhile. A failure of one does not affect the others.
 */
export class HistorySearches {
  readonly #plan: SearchPlan;
  readonly #owner: HistoryOwner;
  #goOn: (() => void) | undefined;

  constructor(plan: SearchPlan, owner: HistoryOwner) {
    this.#plan = plan;
    this.#owner = owner;
  }

  /** Whether it waits for the client to read. */
  get isParked(): boolean {
    return this.#goOn !== undefined;
  }

  /** Resolves when all histories are searched, or when the search is stopped; never rejects. */
  async run(resolutions: readonly Resolution[]): Promise<void> {
    const { context } = this.#owner;
    const choices = chooseHistories(this.#plan, resolutions, this.#owner.base);
    const waiting: Started[] = [];
    const start = (): void => {
      const { value, done } = choices.next();
      if (done !== true) waiting.push(this.#start(value));
    };
    for (let i = 0; i <= lookAheadCount; i++) start();
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      if (!context.control.isStopped) await this.#send(one);
      await one.pages.return();
      if (!context.control.isStopped) start();
    }
  }

  /** Continues after it was parked, or ends it if the search is stopped. */
  resume(): void {
    const goOn = this.#goOn;
    this.#goOn = undefined;
    goOn?.();
  }

  #start(choice: HistoryChoice): Started {
    const { context } = this.#owner;
    const sources = choice.groups.map((group) => ({
      newest: Infinity,
      open: () => readHistory(choice.repository, group, context),
    }));
    const pages = mergePages(sources, sources.length);
    const first = pages.next();
    first.catch(() => undefined);
    return { choice, pages, first };
  }

  async #send({ choice: { repository, groups }, pages, first }: Started): Promise<void> {
    const { context, onFailure, results } = this.#owner;
    results.begin?.(repository);
    if ((repository.cut ?? "") !== "") context.onCut(repository.name);
    const isOneEnough = groups.every(({ plans }) =>
      plans.every(({ optionsIndex }) => this.#selectsRepository(optionsIndex)),
    );
    try {
      for (let page = await first; page.done !== true; page = await pages.next()) {
        const isStopped = !this.#addPage(page.value, repository.id, isOneEnough);
        if (isStopped || (isOneEnough && page.value.length > 0)) return;
        await this.#waitForRoom();
      }
    } catch (error) {
      const isStop = error instanceof TrawlError && error.code === "cancelled" && context.control.isStopped;
      if (!isStop) onFailure(repository.name, errorMessage(error));
    }
  }

  /** Adds its results, or only the first one; false if the search was stopped. */
  #addPage(page: readonly FoundCommit[], repositoryId: number, onlyOne: boolean): boolean {
    for (const found of onlyOne ? page.slice(0, 1) : page) {
      if (this.#owner.context.control.isStopped) break;
      this.#add(found, repositoryId);
    }
    this.#owner.results.sendCommits();
    return !this.#owner.context.control.isStopped;
  }

  #add(found: FoundCommit, repositoryId: number): void {
    const { results } = this.#owner;
    const selected = found.matches.filter(({ optionsIndex }) => this.#selectsRepository(optionsIndex));
    for (const { optionsIndex } of selected) results.addRepository(repositoryId, optionsIndex);
    if (selected.length === 0) {
      results.addCommit(found, repositoryId);
      return;
    }
    const matches = found.matches.filter((one) => !selected.includes(one));
    if (matches.length > 0) results.addCommit({ ...found, matches }, repositoryId);
  }

  /** Then all results of a repository are one. */
  #selectsRepository(optionsIndex: number): boolean {
    return this.#plan.resultOptions[optionsIndex].select === "repo";
  }

  async #waitForRoom(): Promise<void> {
    const { context, hasRoom, onParked } = this.#owner;
    while (!hasRoom() && !context.control.isStopped) {
      await new Promise<void>((resolve) => {
        this.#goOn = resolve;
        onParked();
      });
    }
  }
}

/** A repository whose search has begun. */
interface Started {
  readonly choice: HistoryChoice;
  readonly pages: ResultPages;
  readonly first: ReturnType<ResultPages["next"]>;
}
