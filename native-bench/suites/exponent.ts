export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The exponent e of the curve `y = c * x^e` that is nearest to the points: the slope by least squares between
 * logarithms.
 */
export function fitExponent(points: readonly Point[]): number {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [middleX, middleY] = [mean(logs.map(({ x }) => x)), mean(logs.map(({ y }) => y))];
  const covariance = logs.reduce((sum, { x, y }) => sum + (x - middleX) * (y - middleY), 0);
  const variance = logs.reduce((sum, { x }) => sum + (x - middleX) ** 2, 0);
  return covariance / variance;
}
