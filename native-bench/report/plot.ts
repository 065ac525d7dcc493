import { LineChart, ScatterChart } from "echarts/charts";
import { GridComponent, LegendComponent, TitleComponent } from "echarts/components";
import { init, use } from "echarts/core";
import type { EChartsOption } from "echarts";
import { SVGRenderer } from "echarts/renderers";
import { compact } from "./numbers.js";
import type { Axis, Plot } from "./run-report.js";

use([ScatterChart, LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer]);

/** Okabe and Ito's colours, distinct with any kind of colour vision; yellow, pale on white, comes last. */
const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#F0E442"];
const symbols = ["circle", "triangle", "rect", "diamond", "roundRect", "pin"];

const fontSize = 12;
/** Width of a letter of a wide sans-serif font: there is no font to measure with. */
const letterWidth = 0.64 * fontSize;
/** Lines with more points than this show no symbol at each. */
const symbolPointsMax = 40;

/**
 * A plot as an SVG image: lines on numeric axes, or a row of points for each category of the x axis, which keeps long names
 * readable. Points that a logarithmic axis cannot show are left out, and the image says how many.
 */
export function renderPlot({ title, x, y, series }: Plot): string {
  const isCategory = x.scale === "category";
  const canShow = (value: number, { scale }: Axis): boolean => Number.isFinite(value) && (scale !== "log" || value > 0);
  const shown = series.map((each) => ({
    ...each,
    points: each.points.filter((point) => canShow(point.x, x) && canShow(point.y, y)),
  }));
  const count = (all: Plot["series"]): number => all.reduce((sum, { points }) => sum + points.length, 0);
  const omitted = count(series) - count(shown);
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => text.length * letterWidth));
  const names = series.map(({ name }) => name);
  const legendWidth = names.length > 1 ? 48 + widest(names) : 0;
  const left = isCategory ? 24 + widest([...x.categories, x.label]) : 84;
  const width = Math.round(Math.max(left + 600 + legendWidth, 40 + 1.3 * widest([title])));
  const height = 120 + Math.max(isCategory ? 24 + x.categories.length * 28 : 320, names.length * 24);
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  const values: Axis = isCategory ? y : x;
  const categoryAxis = { type: "category", data: x.categories, inverse: true, name: x.label, nameLocation: "start" };
  const option = {
    animation: false,
    backgroundColor: "#ffffff",
    textStyle: { fontFamily: "sans-serif", fontSize, color: "#222222" },
    title: {
      text: title,
      subtext: omitted === 0 ? "" : `${omitted} ${omitted === 1 ? "point" : "points"} at or below 0 not shown`,
      left: 16,
      top: 12,
      textStyle: { fontSize: 15 },
    },
    legend: { show: names.length > 1, orient: "vertical", left: width - legendWidth, top: 64, data: names },
    grid: { left, right: legendWidth + 40, top: 64, bottom: 56, outerBoundsMode: "none" },
    xAxis: { ...axisOption(values), nameGap: 30 },
    yAxis: isCategory ? { ...categoryAxis, axisLabel: { interval: 0 } } : { ...axisOption(y), nameGap: 52 },
    series: shown.map(({ name, points }, i) => ({
      name,
      type: isCategory ? "scatter" : "line",
      itemStyle: { color: palette[i % palette.length] },
      lineStyle: { width: 2, color: palette[i % palette.length], type: i < palette.length ? "solid" : "dashed" },
      symbol: symbols[i % symbols.length],
      symbolSize: 8,
      showSymbol: points.length <= symbolPointsMax,
      data: points.map((point) => (isCategory ? [point.y, point.x] : [point.x, point.y])),
    })),
  };
  try {
    chart.setOption(option as EChartsOption);
    return accessible(chart.renderToSVGString(), title);
  } finally {
    chart.dispose();
  }
}

function axisOption({ label, scale }: Axis): object {
  return {
    type: scale === "log" ? "log" : "value",
    name: label,
    nameLocation: "middle",
    axisLabel: { formatter: compact, hideOverlap: true },
    axisLine: { show: true, lineStyle: { color: "#666666" } },
    splitLine: { show: true, lineStyle: { color: "#dddddd" } },
  };
}

/** Adds the title as the accessible name of the image. */
function accessible(svg: string, title: string): string {
  const escaped = title.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `${svg.replace(/<svg [^>]*>/, (tag) => `${tag.replace("<svg ", '<svg role="img" ')}\n<title>${escaped}</title>`)}\n`;
}
