import type { CustomSeriesOption } from "echarts/charts";
import { short } from "./numbers.js";

/** Marks that echarts has no series for: bars in lanes, and whiskers. */
type RenderItem = NonNullable<CustomSeriesOption["renderItem"]>;

const capWidth = 4;

/** A vertical whisker from the second to the third value of a point, at its first. */
export function whisker(colour: string): RenderItem {
  return (_, api) => {
    const [x = 0, low = 0] = api.coord([api.value(0), api.value(1)]);
    const [, high = 0] = api.coord([api.value(0), api.value(2)]);
    return {
      type: "group",
      children: [
        line(x, low, x, high, colour),
        line(x - capWidth, low, x + capWidth, low, colour),
        line(x - capWidth, high, x + capWidth, high, colour),
      ],
    };
  };
}

interface Lane {
  readonly lane: number;
  readonly lanes: number;
  readonly isBar: boolean;
  readonly colour: string;
  /** Where bars begin. */
  readonly base: number;
}

/** A point (value, row, low, high), drawn along the row in the lane of its series, with its value as a label. */
export function dodgedMark({ lane, lanes, isBar, colour, base }: Lane): RenderItem {
  return (_, api) => {
    const [value, row, low, high] = [api.value(0), api.value(1), api.value(2), api.value(3)];
    const [x = 0, centre = 0] = api.coord([value, row]);
    const [from = 0] = api.coord([base, row]);
    const [lowX = 0] = api.coord([low, row]);
    const [highX = 0] = api.coord([high, row]);
    const band = readRowHeight(api.size?.([0, 1]));
    const height = (band * 0.84) / lanes;
    const y = centre - (band * 0.84) / 2 + (lane + 0.5) * height;
    const thick = Math.min(height * 0.8, 18);
    const mark = isBar
      ? {
          type: "rect" as const,
          shape: { x: Math.min(from, x), y: y - thick / 2, width: Math.abs(x - from), height: thick },
          style: { fill: colour, opacity: 0.85 },
        }
      : { type: "circle" as const, shape: { cx: x, cy: y, r: 4 }, style: { fill: colour } };
    const stroke = isBar ? "#222222" : colour;
    const cap = (at: number) => line(at, y - 3, at, y + 3, stroke);
    const spread = lowX === highX ? [] : [line(lowX, y, highX, y, stroke), cap(lowX), cap(highX)];
    const text = { text: short(Number(value)), x: Math.max(x, highX) + 7, y, fontSize: 10, fill: "#444444" };
    const label = { type: "text" as const, style: { ...text, verticalAlign: "middle" as const } };
    return { type: "group", children: [mark, ...spread, label] };
  };
}

function readRowHeight(size: number | number[] | undefined): number {
  return Array.isArray(size) ? (size[1] ?? 0) : (size ?? 0);
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string) {
  return { type: "line" as const, shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 1.5 } };
}
