import { globalContextName } from "../../model/search-context.js";
import type { KnownContext } from "../../account/context-directory.js";
import { globalId } from "../../browse/ids.js";

/** A search context. */
export class ContextSource {
  readonly __typename = "SearchContext";
  readonly found: KnownContext;

  constructor(found: KnownContext) {
    this.found = found;
  }

  get id(): string {
    return globalId("SearchContext", this.spec);
  }

  get name(): string {
    return this.found.own?.name ?? this.found.context.name;
  }

  get spec(): string {
    return this.found.spec;
  }

  get autoDefined(): boolean {
    return this.spec === globalContextName;
  }

  get description(): string {
    return this.found.context.description;
  }

  get query(): string {
    return this.found.context.query;
  }

  get public(): boolean {
    return this.found.context.public;
  }

  /** For contexts of the configuration file the time is not recorded: the start of the daemon is used. */
  get updatedAt(): string {
    return this.found.own?.updatedAt ?? new Date(performance.timeOrigin).toISOString();
  }
}
