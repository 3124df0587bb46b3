// A straight line over the logarithm of the size, by least squares: what a tree's depth, and so a step through an index, grows like.

/** `points` are `[size, value]`. Null for fewer than three, as a line goes through any two. */
export function fitLog(points) {
  if (points.length < 3) return null;
  const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  const x = points.map(([size]) => Math.log10(size));
  const y = points.map(([, value]) => value);
  const [mx, my] = [mean(x), mean(y)];
  const slope = mean(x.map((one, at) => (one - mx) * (y[at] - my))) / mean(x.map((one) => (one - mx) ** 2));
  const valueAt = (size) => my + slope * (Math.log10(size) - mx);
  return {
    /** What ten times the size adds. */
    slope,
    valueAt,
    /** The largest distance of a point from the line, as a share of the point. */
    residual: Math.max(...points.map(([size, value]) => Math.abs(valueAt(size) / value - 1))),
  };
}
