/** Days begin at midnight UTC, weeks on Monday. */
export function startOfPeriod(period: "TODAY" | "THIS_WEEK" | "THIS_MONTH" | "ALL_TIME", now: Date): number {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  switch (period) {
    case "TODAY":
      return Date.UTC(year, month, day);
    case "THIS_WEEK":
      return Date.UTC(year, month, day - ((now.getUTCDay() + 6) % 7));
    case "THIS_MONTH":
      return Date.UTC(year, month, 1);
    case "ALL_TIME":
      return 0;
  }
}
