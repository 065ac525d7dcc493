import type { Spread } from "../system/measure.js";

/** A number in short: grouped from 1000 on, with two or three significant digits below. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size >= 1000 ? grouped(Math.round(value)) : String(Number(value.toPrecision(size >= 100 ? 3 : 2)));
}

export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** For the ticks of an axis, where 10,000,000 is too wide. */
export function compact(value: number): string {
  return Math.abs(value) < 10_000 ? String(Number(value.toPrecision(4))) : compactFormat.format(value);
}

const compactFormat = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

/** `MEDIAN (MIN..MAX)`; of one value, that. */
export function spreadText({ min, median, max, count }: Spread): string {
  return count === 1 ? short(median) : `${short(median)} (${short(min)}..${short(max)})`;
}

/** `3 min 20 s`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
