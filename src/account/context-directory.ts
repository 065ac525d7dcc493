import { mapInSteps, sortInSteps } from "../base/yielding.js";
import { globalContextName, type SearchContext } from "../model/search-context.js";
import type { Viewer } from "../model/viewer.js";
import type { SearchContexts } from "../query/plan/search-contexts.js";
import type { Accounts } from "./identity/accounts.js";
import type { OwnContext } from "./contexts/own-contexts.js";

/** A context that queries can refer to: `spec` is the value of `context:`. */
export interface KnownContext {
  readonly spec: string;
  readonly context: SearchContext;
  /** Undefined for contexts of the configuration file, and for the global one, which cannot be changed. */
  readonly own: OwnContext | undefined;
}

/** All repositories; always exists. */
const globalContext: SearchContext = {
  name: globalContextName,
  description: "All repositories",
  public: true,
  query: "",
  repositories: [],
};

/**
 * The search contexts that exist for a viewer: those of the configuration file, which take precedence over others of
 * the same name, and those that users have created, if the viewer may use them. A context that may not be used does not
 * exist for the viewer.
 */
export class ContextDirectory {
  readonly #accounts: Accounts;
  /** Those of the configuration file; a running search keeps those it began with. */
  configured: readonly SearchContext[];

  constructor(accounts: Accounts, configured: readonly SearchContext[]) {
    this.#accounts = accounts;
    this.configured = configured;
  }

  /** The contexts that a query of the viewer may use. */
  contextsForViewer(viewer: Viewer): SearchContexts {
    return { get: (spec) => this.find(spec, viewer)?.context };
  }

  find(spec: string, viewer: Viewer): KnownContext | undefined {
    if (spec === globalContextName) return this.global;
    const configured = this.configured.find(({ name }) => name === spec);
    if (configured !== undefined) return { spec, context: configured, own: undefined };
    const own = this.#findOwn(spec);
    return own !== undefined && (own.public || this.owns(viewer, own.ownerId)) ? known(spec, own) : undefined;
  }

  /** Upper limit on the contexts that `listFor` examines. */
  get count(): number {
    return this.configured.length + this.#accounts.contexts.count;
  }

  /**
   * The global one, then the others ordered by spec, which begins with their owner; a configured context that is not
   * public is not listed.
   */
  *listFor(viewer: Viewer): Generator<void, readonly KnownContext[]> {
    const configured = this.configured
      .filter((context) => context.public)
      .map((context) => ({ spec: context.name, context, own: undefined }));
    const own = yield* mapInSteps([...this.#accounts.contexts.all()], (context) => {
      const spec = this.#contextSpec(context);
      return spec === undefined ? undefined : this.find(spec, viewer);
    });
    const usable = own.filter((found) => found?.own !== undefined) as KnownContext[];
    const others = yield* sortInSteps([...configured, ...usable], (a, b) => (a.spec < b.spec ? -1 : 1));
    return [this.global, ...others];
  }

  /** All repositories; always exists. */
  get global(): KnownContext {
    return { spec: globalContextName, context: globalContext, own: undefined };
  }

  /** The context to which a user's mark refers, if the viewer may use it and it is listed for the viewer. */
  marked(mark: string, viewer: Viewer): KnownContext | undefined {
    const own = this.#accounts.contexts.marked(mark);
    const spec = own === undefined ? mark : this.#contextSpec(own);
    const found = spec === undefined ? undefined : this.find(spec, viewer);
    if (own !== undefined) return found?.own?.id === own.id ? found : undefined;
    return found !== undefined && found.own === undefined && found.context.public ? found : undefined;
  }

  /**
   * Whether the viewer is this owner of contexts, or a member of it; contexts of the instance belong to site admins.
   */
  owns({ userId, isSiteAdmin }: Viewer, ownerId: number): boolean {
    if (ownerId === 0) return isSiteAdmin;
    return (
      userId !== undefined &&
      (userId === ownerId || this.#accounts.organizations.get(ownerId)?.memberIds.includes(userId) === true)
    );
  }

  /** Whether a context of this name could never be found, because the configuration file has one. */
  isConfigured(ownerId: number, name: string): boolean {
    return ownerId === 0 && (name === globalContextName || this.configured.some((context) => context.name === name));
  }

  #findOwn(spec: string): OwnContext | undefined {
    const { contexts } = this.#accounts;
    if (!spec.startsWith("@")) return contexts.find(0, spec);
    const slash = spec.indexOf("/");
    const ownerName = slash < 0 ? spec.slice(1) : spec.slice(1, slash);
    const owner = this.#accounts.userByName(ownerName) ?? this.#accounts.organizations.byName(ownerName);
    return owner === undefined || slash < 0 ? undefined : contexts.find(owner.id, spec.slice(slash + 1));
  }

  #contextSpec({ ownerId, name }: OwnContext): string | undefined {
    if (ownerId === 0) return name;
    const owner = this.#accounts.user(ownerId) ?? this.#accounts.organizations.get(ownerId);
    return owner === undefined ? undefined : `@${owner.name}/${name}`;
  }

  /** The context in its state after a change. */
  of(own: OwnContext): KnownContext {
    return known(this.#contextSpec(own) ?? own.name, own);
  }
}

function known(spec: string, own: OwnContext): KnownContext {
  const { description, public: isPublic, query, repositories } = own;
  return { spec, context: { name: spec, description, public: isPublic, query, repositories }, own };
}
