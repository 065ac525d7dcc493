import { CustomChart, type CustomSeriesOption, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { init, use } from "echarts/core";
import type { EChartsOption } from "echarts";
import { SVGRenderer } from "echarts/renderers";
import { compact, short } from "./numbers.js";
import type { Axis, Plot, PlotPoint, Series } from "./run-report.js";

use([CustomChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/**
 * A plot as an SVG image: lines on numeric axes, or a row for each category of the x axis. Rows keep long names readable.
 * Points that a logarithmic axis cannot show are left out, and the image says how many.
 */
export function renderPlot(plot: Plot): string {
  const { drawable, omitted } = withoutUndrawable(plot);
  const layout = computeLayout(drawable, omitted);
  const chart = init(null, null, { renderer: "svg", ssr: true, width: layout.width, height: layout.height });
  try {
    chart.setOption(chartOption(drawable, layout));
    return accessible(chart.renderToSVGString(), plot.title);
  } finally {
    chart.dispose();
  }
}

/**
 * Okabe and Ito's colours, distinct with any kind of colour vision; yellow, pale on white, comes last.
 */
const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#F0E442"];
const symbols = ["circle", "triangle", "rect", "diamond", "roundRect", "pin"];

const fontSize = 12;
const titleSize = 15;
/** Width of a letter of a wide sans-serif font as a share of its size: there is no font to measure with. */
const letterWidth = 0.64;
/** Lines with more points than this show no symbol at each. */
const symbolPointsMax = 40;

interface Layout {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly subtitle: string;
  readonly top: number;
  /** The width left of the axes, for names and ticks, and that of the legend. */
  readonly left: number;
  readonly legendWidth: number;
}

function computeLayout(plot: Plot, omitted: number): Layout {
  const isCategory = plot.x.scale === "category";
  const names = plot.series.map(({ name }) => name);
  const legendWidth = names.length > 1 ? 40 + widest(names, fontSize) : 0;
  const left = isCategory ? 24 + widest([...plot.x.categories, plot.x.label], fontSize) : 84;
  const width = Math.round(left + 600 + legendWidth);
  const title = wrapped(plot.title, width - 40, titleSize);
  const subtitle = omitted === 0 ? "" : `${omitted} ${omitted === 1 ? "point" : "points"} at or below 0 not shown`;
  const top = 20 + title.split("\n").length * (titleSize + 5) + (subtitle === "" ? 0 : fontSize + 8);
  const rows = isCategory ? 24 + plot.x.categories.length * (plot.series.length * laneHeight + 10) : 320;
  const height = top + Math.max(rows + bottom, plot.series.length * legendLineHeight + 20);
  return { width, height, title, subtitle, top, left, legendWidth };
}

const laneHeight = 16;
const legendLineHeight = 24;
/** For the ticks of the lower axis and its name. */
const bottom = 56;

function chartOption(plot: Plot, layout: Layout): EChartsOption {
  const isCategory = plot.x.scale === "category";
  return {
    animation: false,
    backgroundColor: "#ffffff",
    textStyle: { fontFamily: "sans-serif", fontSize, color: "#222222" },
    title: {
      text: layout.title,
      subtext: layout.subtitle,
      left: 16,
      top: 12,
      itemGap: 4,
      textStyle: { fontSize: titleSize, lineHeight: titleSize + 5, color: "#111111" },
      subtextStyle: { fontSize, color: "#444444" },
    },
    legend: {
      show: plot.series.length > 1,
      orient: "vertical",
      left: layout.width - layout.legendWidth,
      top: layout.top,
      itemGap: 10,
      itemWidth: 18,
      itemHeight: 11,
      selectedMode: false,
      data: plot.series.map(({ name }) => name),
      textStyle: { fontSize, color: "#222222" },
    },
    grid: {
      left: layout.left,
      right: layout.legendWidth + (isCategory ? 64 : 28),
      top: layout.top + (isCategory ? 24 : 8),
      bottom,
      outerBoundsMode: "none",
    },
    ...(isCategory ? categoryOptions(plot) : numericOptions(plot)),
  };
}

function numericOptions(plot: Plot): EChartsOption {
  const series = plot.series.flatMap((each, i) => [lineSeries(each, i), ...whiskerSeries(each, i)]);
  return {
    xAxis: { ...axisOption(plot.x, plot), nameGap: 30 },
    yAxis: { ...axisOption(plot.y, plot), nameGap: 52 },
    series,
  } as EChartsOption;
}

/** The values are along the bottom, and every series has a lane of its own within the row of a category. */
function categoryOptions(plot: Plot): EChartsOption {
  const categories = {
    type: "category",
    data: plot.x.categories,
    inverse: true,
    axisTick: { show: false },
    name: plot.x.label,
    nameLocation: "start",
    nameGap: 8,
    nameTextStyle: { align: "right", color: "#444444" },
    axisLabel: { interval: 0, fontSize, color: "#222222" },
  };
  const base = plot.y.scale === "log" ? smallest(plot) : 0;
  const series = plot.series.map((each, lane) => ({
    name: each.name,
    type: "custom",
    itemStyle: { color: pickColour(lane) },
    data: each.points.map(({ x, y, low, high }) => [y, x, low ?? y, high ?? y]),
    encode: { x: [0, 2, 3], y: 1 },
    clip: false,
    renderItem: dodgedMark({
      lane,
      lanes: plot.series.length,
      isBar: each.kind === "bars",
      colour: pickColour(lane),
      base,
    }),
  }));
  return { xAxis: { ...axisOption(plot.y, plot), nameGap: 30 }, yAxis: categories, series } as unknown as EChartsOption;
}

function axisOption({ label, scale }: Axis, plot: Plot): object {
  return {
    type: scale === "log" ? "log" : "value",
    name: label,
    nameLocation: "middle",
    nameTextStyle: { fontSize, color: "#222222" },
    axisLabel: { formatter: compact, fontSize, color: "#222222", hideOverlap: true },
    axisLine: { show: true, lineStyle: { color: "#666666" } },
    splitLine: { show: true, lineStyle: { color: "#dddddd" } },
    ...(scale === "log"
      ? { minorTick: { show: true, splitNumber: 9 }, minorSplitLine: { show: true, lineStyle: { color: "#f2f2f2" } } }
      : {}),
    ...(scale === "log" && plot.x.scale === "category" ? { min: smallest(plot) } : {}),
  };
}

function lineSeries({ name, points }: Series, i: number): object {
  const colour = pickColour(i);
  return {
    name,
    type: "line",
    itemStyle: { color: colour },
    lineStyle: { width: 2, color: colour, type: i < palette.length ? "solid" : "dashed" },
    symbol: symbols[i % symbols.length],
    symbolSize: 7,
    showSymbol: points.length <= symbolPointsMax,
    data: points.map(({ x, y }) => [x, y]),
  };
}

function whiskerSeries({ name, points }: Series, i: number): object[] {
  const data = points.flatMap(({ x, y, low = y, high = y }) => (low === high ? [] : [[x, low, high]]));
  if (data.length === 0) return [];
  const itemStyle = { color: pickColour(i) };
  return [
    { name, type: "custom", itemStyle, data, encode: { x: 0, y: [1, 2] }, renderItem: whisker(pickColour(i)), z: 3 },
  ];
}

function pickColour(i: number): string {
  return palette[i % palette.length] ?? "#000000";
}

/** The power of ten below all values. */
function smallest({ series }: Plot): number {
  const values = series.flatMap(({ points }) => points.map(({ y, low }) => low ?? y));
  return values.length === 0 ? 1 : 10 ** Math.floor(Math.log10(Math.min(...values)) - 1e-9);
}

function withoutUndrawable(plot: Plot): { readonly drawable: Plot; readonly omitted: number } {
  const isDrawable = ({ x, y }: PlotPoint): boolean =>
    Number.isFinite(x) &&
    Number.isFinite(y) &&
    !(plot.x.scale === "log" && x <= 0) &&
    !(plot.y.scale === "log" && y <= 0);
  let omitted = 0;
  const series = plot.series.map((each) => {
    const points = each.points.filter(isDrawable);
    omitted += each.points.length - points.length;
    return { ...each, points: plot.y.scale === "log" ? points.map(withinLog) : points };
  });
  return { drawable: { ...plot, series }, omitted };
}

/** A whisker that would go below a logarithmic axis ends at its point. */
function withinLog(point: PlotPoint): PlotPoint {
  return point.low !== undefined && point.low <= 0 ? { ...point, low: point.y } : point;
}

function widest(texts: readonly string[], size: number): number {
  return Math.max(0, ...texts.map((text) => textWidth(text, size)));
}

function textWidth(text: string, size: number): number {
  return text.length * size * letterWidth;
}

function wrapped(text: string, width: number, size: number): string {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && textWidth(`${line} ${word}`, size) > width) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

/** Adds the title as the accessible name of the image. */
function accessible(svg: string, title: string): string {
  const escaped = title.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `${svg.replace(/<svg [^>]*>/, (tag) => `${tag.replace("<svg ", '<svg role="img" ')}\n<title>${escaped}</title>`)}\n`;
}

/** Marks that echarts has no series for: bars in lanes, and whiskers. */
type RenderItem = NonNullable<CustomSeriesOption["renderItem"]>;

const capWidth = 4;

/** A vertical whisker from the second to the third value of a point, at its first. */
function whisker(colour: string): RenderItem {
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
function dodgedMark({ lane, lanes, isBar, colour, base }: Lane): RenderItem {
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
