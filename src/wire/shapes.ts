import { TrawlError } from "../base/errors.js";
import { isObject } from "../base/is-object.js";

/** Returns a value of JSON if it is as it should be, without what nobody asks for. Throws `bad-request` with its place. */
export type Shape<T> = (value: unknown, place: string) => T;

export type Shaped<S> = S extends Shape<infer T> ? T : never;

/** A whole number from 0 on that a double holds exactly. */
export const natural: Shape<number> = (value, place) => {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw unfit(place, "a count");
  return value;
};

/** A whole number, also below 0. */
export const whole: Shape<number> = (value, place) => {
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw unfit(place, "a whole number");
  return value;
};

/** Like `natural`, up to 2^32 - 1. */
export const word: Shape<number> = (value, place) => {
  const count = natural(value, place);
  if (count > 0xffff_ffff) throw unfit(place, "a number of 32 bits");
  return count;
};

/** Like `natural`, up to a maximum. */
export function atMost(max: number): Shape<number> {
  return (value, place) => {
    const count = natural(value, place);
    if (count > max) throw unfit(place, `at most ${max}`);
    return count;
  };
}

/** A number above 0, which may be a fraction. */
export const positive: Shape<number> = (value, place) => {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) throw unfit(place, "a number above 0");
  return value;
};

export const flag: Shape<boolean> = (value, place) => {
  if (typeof value !== "boolean") throw unfit(place, "true or false");
  return value;
};

/** At most this many UTF-16 units. */
export function text(lengthMax: number): Shape<string> {
  return (value, place) => {
    if (typeof value !== "string" || value.length > lengthMax) throw unfit(place, `a text of up to ${lengthMax}`);
    return value;
  };
}

export function choice<const T extends string>(choices: readonly T[]): Shape<T> {
  return (value, place) => {
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined) throw unfit(place, choices.join(" or "));
    return chosen;
  };
}

/** Of a member that may be absent. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, place) => (value === undefined || value === null ? undefined : shape(value, place));
}

export function list<T>(item: Shape<T>, countMax: number): Shape<readonly T[]> {
  return (value, place) => {
    if (!Array.isArray(value) || value.length > countMax) throw unfit(place, `a list of up to ${countMax}`);
    // `map` would pass over what is missing in a list that was not JSON.
    const items: T[] = [];
    for (let i = 0; i < value.length; i++) items.push(item(value[i] as unknown, `${place}[${i}]`));
    return items;
  };
}

/** A list with a shape for each of its items. */
export function tuple<const S extends readonly Shape<unknown>[]>(
  ...shapes: S
): Shape<{ readonly [K in keyof S]: Shaped<S[K]> }> {
  return (value, place) => {
    if (!Array.isArray(value) || value.length !== shapes.length) throw unfit(place, `a list of ${shapes.length}`);
    const items = value as unknown[];
    return shapes.map((shape, i) => shape(items[i], `${place}[${i}]`)) as { readonly [K in keyof S]: Shaped<S[K]> };
  };
}

export function object<S extends Readonly<Record<string, Shape<unknown>>>>(
  shapes: S,
): Shape<{ readonly [K in keyof S]: Shaped<S[K]> }> {
  const members = Object.entries(shapes);
  return (value, place) => {
    if (!isObject(value)) throw unfit(place, "an object");
    // `Object.fromEntries` takes four times as long, for each message.
    const checked: Record<string, unknown> = {};
    for (const [name, shape] of members) checked[name] = shape(value[name], `${place}.${name}`);
    return checked as { readonly [K in keyof S]: Shaped<S[K]> };
  };
}

/** The error of a value that is not as it should be: `ask.plan must be an object`. */
export function unfit(place: string, wanted: string): TrawlError {
  return new TrawlError("bad-request", `${place} must be ${wanted}`);
}
