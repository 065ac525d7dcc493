import type { Plot, PlotPoint, Series } from "../report/record.js";
import type { WatchedMemory } from "../system/measure.js";

/** Memory of a daemon over time, in three lines. */
export function memoryPlot(name: string, title: string, history: WatchedMemory["history"]): Plot {
  const series = (seriesName: string, field: "residentBytes" | "anonymousBytes" | "childrenBytes"): Series => ({
    name: seriesName,
    kind: "line",
    points: peaksOf(history.map((moment) => ({ x: moment.seconds, y: moment[field] / 1e6 }))),
  });
  return {
    name,
    title,
    x: { label: "time, s", scale: "linear", categories: [] },
    y: { label: "memory, MB", scale: "linear", categories: [] },
    series: [
      series("resident", "residentBytes"),
      series("anonymous", "anonymousBytes"),
      series("git's processes", "childrenBytes"),
    ],
  };
}

const plotPointsMax = 200;

/** At most so many points: of each stretch the highest, so that no peak is lost. */
function peaksOf(points: readonly PlotPoint[]): PlotPoint[] {
  const stretch = Math.ceil(points.length / plotPointsMax);
  return points.flatMap((first, i) =>
    i % stretch > 0
      ? []
      : [points.slice(i, i + stretch).reduce((max, point) => (point.y > max.y ? point : max), first)],
  );
}
