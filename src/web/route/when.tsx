import { serverTimeMs } from "./viewer.js";
import { formatTime } from "../ui/numbers.js";

/** Made at the first use, which takes a while. */
let relative: Intl.RelativeTimeFormat | undefined;

const units = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** How long ago, with the exact time as a tooltip. */
export function When({ date }: { readonly date: string }) {
  const seconds = (Date.parse(date) - serverTimeMs()) / 1000;
  const unit = units.find(([, size]) => Math.abs(seconds) >= size);
  relative ??= new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const text = unit === undefined ? "just now" : relative.format(Math.round(seconds / unit[1]), unit[0]);
  return (
    <time dateTime={date} title={formatTime(date)}>
      {text}
    </time>
  );
}
