import type { CustomSeriesOption } from "echarts/charts";
import { short } from "./numbers.js";

/** What echarts has no series for: bars in lanes, and whiskers. */
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

/** A vertical bar on a numeric axis, from `base` or, undefined, from the lower end of the axis. */
export function bar(colour: string, base: number | undefined): RenderItem {
  return (params, api) => {
    const [x = 0, y = 0] = api.coord([api.value(0), api.value(1)]);
    const { y: top, height } = params.coordSys as unknown as { readonly y: number; readonly height: number };
    const foot = base === undefined ? top + height : (api.coord([api.value(0), base])[1] ?? 0);
    return {
      type: "rect",
      shape: { x: x - 4, y: Math.min(y, foot), width: 8, height: Math.abs(foot - y) },
      style: { fill: colour },
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

/** Value, row, low and high of a point, drawn along the row in its series' lane with the value written behind it. */
export function dodgedMark({ lane, lanes, isBar, colour, base }: Lane): RenderItem {
  return (_, api) => {
    const [value, row, low, high] = [api.value(0), api.value(1), api.value(2), api.value(3)];
    const [x = 0, centre = 0] = api.coord([value, row]);
    const [from = 0] = api.coord([base, row]);
    const [lowX = 0] = api.coord([low, row]);
    const [highX = 0] = api.coord([high, row]);
    const band = rowHeightOf(api.size?.([0, 1]));
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
    const spread =
      lowX === highX
        ? []
        : [
            line(lowX, y, highX, y, isBar ? "#222222" : colour),
            line(lowX, y - 3, lowX, y + 3, isBar ? "#222222" : colour),
            line(highX, y - 3, highX, y + 3, isBar ? "#222222" : colour),
          ];
    const label = {
      type: "text" as const,
      style: {
        text: short(Number(value)),
        x: Math.max(x, highX) + 7,
        y,
        align: "left" as const,
        verticalAlign: "middle" as const,
        fontSize: 10,
        fill: "#444444",
      },
    };
    return { type: "group", children: [mark, ...spread, label] };
  };
}

function rowHeightOf(size: number | number[] | undefined): number {
  return Array.isArray(size) ? (size[1] ?? 0) : (size ?? 0);
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string) {
  return { type: "line" as const, shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 1.5 } };
}
