import type { RequestContext } from "../../browse/request-context.js";
import type { ObjectTypes, SourceOf } from "./schema-types.js";

/** Resolves one field of one object. An error affects only that field. */
export type Resolver<Source, Args, Result> = (
  source: Source,
  args: Args,
  context: RequestContext,
) => Result | Promise<Result>;

type ObjectName = keyof ObjectTypes;
type ResolverOf<T extends ObjectName, F extends keyof ObjectTypes[T]> = ObjectTypes[T][F] extends {
  readonly args: infer Args;
  readonly result: infer Result;
}
  ? Resolver<SourceOf<T>, Args, Result>
  : never;

/** The fields for which the source has no property of the same name and type. */
type Missing<T extends ObjectName> = {
  [F in keyof ObjectTypes[T]]: F extends keyof SourceOf<T>
    ? ObjectTypes[T][F] extends { readonly result: infer Result }
      ? SourceOf<T>[F] extends Result
        ? never
        : F
      : never
    : F;
}[keyof ObjectTypes[T]];

/** The resolvers of one type: those that its source requires, and any others. */
export type ResolversOf<T extends ObjectName> = { readonly [F in Missing<T>]: ResolverOf<T, F> } & {
  readonly [F in Exclude<keyof ObjectTypes[T], Missing<T>>]?: ResolverOf<T, F>;
};

type Unanswered = { [T in ObjectName]: Missing<T> extends never ? never : T }[ObjectName];

/** The resolvers of the whole schema: a type may be omitted if its source has all fields. */
export type AllResolvers = { readonly [T in Unanswered]: ResolversOf<T> } & {
  readonly [T in Exclude<ObjectName, Unanswered>]?: ResolversOf<T>;
};
