// Charts as drawings: lines over time, and small bars next to a number.

/** Returns one bar for each figure; screen readers get the sum and the last figure. */
function sparkline(figures, words = "the last 24 hours") {
  const [width, height, largest] = [120, 28, Math.max(1, ...figures)];
  const step = width / figures.length;
  const label = `${words}: ${of(figures.reduce((sum, figure) => sum + figure, 0), "item")}, ${grouped(figures.at(-1) ?? 0)} in the last hour`;
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "spark", role: "img", "aria-label": label, preserveAspectRatio: "none" },
    draw("title", {}, label),
    figures.map((figure, place) => {
      const tall = figure > 0 ? Math.max(3, (figure / largest) * height) : 1.5;
      return draw("rect", { x: place * step + 0.5, y: height - tall, width: step - 1, height: tall, rx: 1, class: figure > 0 ? "some" : "none" });
    }));
}

/** Returns a bar that is filled to `share`, from 0 to 1; `failed` is the failed part of it, at its end. */
function progressBar(share, words, kind = "", failed = 0) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
  const wrong = failed > 0 ? Math.min(percent, Math.max(0.6, failed * 100)) : 0;
  return el("div", { class: `progress ${kind}`, role: "progressbar", "aria-label": words, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": percent },
    draw("svg", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("rect", { width: percent - wrong, height: 4 }),
      wrong > 0 ? draw("rect", { x: percent - wrong, width: wrong, height: 4, class: "wrong" }) : null));
}

/** The size of a drawing; on a phone it is narrower, so that its texts keep their size. */
const chartSize = () => ({ width: matchMedia("(max-width: 820px)").matches ? 340 : 560, height: 190, left: 54, right: 12, top: 14, bottom: 26 });

/** Returns the time of day in UTC, up to a character of the ISO form: 16 for minutes, 19 for seconds. */
const utc = (milliseconds, end) => new Date(milliseconds).toISOString().slice(11, end);

/** Round numbers of seconds, each with a round half in the same unit or in the next smaller one. */
const ROUND_SECONDS = [2, 4, 10, 20, 60, 120, 240, 600, 1_200, 3_600, 7_200, 14_400, 43_200, 86_400, 172_800];

/** Returns a round number of the unit that is not below any of the values. */
function ceiling(largest, unit) {
  if (unit === "s") {
    const round = ROUND_SECONDS.find((seconds) => seconds >= largest);
    return round ?? 2 * ceiling(largest / 172_800) * 86_400;
  }
  if (!(largest > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= largest);
}

/** Returns a line through points, interrupted at missing ones. */
function linePath(points, x, y) {
  let path = "";
  let isDown = false;
  for (const [at, value] of points) {
    if (value === null || value === undefined) {
      isDown = false;
      continue;
    }
    path += `${isDown ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = true;
  }
  return path;
}

/** Returns one chart: `series` are `{ name, column, colour }`, `data` is the server's history. */
function chart(title, unit, series, data) {
  const columns = series.map(({ column }) => data.names.indexOf(column) + 1);
  const rows = data.points;
  const write = UNITS[unit];
  // A value that is unknown now, such as during a failure of the database, is not replaced by an older one.
  const latest = columns.map((column) => rows.at(-1)?.[column] ?? null);
  const body = rows.length < 2
    ? el("p", { class: "muted empty-chart" }, "The first points come within seconds of the console's start.")
    : plot(title, unit, series, columns, rows, data.marks ?? []);
  const legend = el("ul", { class: "legend" }, series.map((one, place) => el("li", {},
    el("i", { class: `dot c-${one.colour}` }), `${one.name} `,
    el("b", {}, latest[place] === null ? "–" : write(latest[place])))));
  return card(title, null, body, legend);
}

function plot(title, unit, series, columns, rows, marks) {
  const write = UNITS[unit];
  const { width, height, left, right, top, bottom } = chartSize();
  const [first, last] = [rows[0][0], rows.at(-1)[0]];
  const top_ = ceiling(Math.max(0, ...rows.flatMap((row) => columns.map((column) => row[column] ?? 0))), unit);
  const x = (at) => left + ((at - first) / Math.max(1, last - first)) * (width - left - right);
  const y = (value) => height - bottom - (value / top_) * (height - top - bottom);
  const cursor = draw("g", { class: "cursor", visibility: "hidden" });
  const words = el("output", { class: "reading", "aria-live": "off" });
  const said = series.map((one, place) => `${one.name} ${rows.at(-1)[columns[place]] === null ? "unknown" : write(rows.at(-1)[columns[place]])}`);
  const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `${title}: ${said.join(", ")}` },
    [0, 0.5, 1].map((share) => [
      draw("line", { x1: left, x2: width - right, y1: y(share * top_), y2: y(share * top_), class: "grid" }),
      draw("text", { x: left - 8, y: y(share * top_) + 4, class: "axis", "text-anchor": "end" }, write(share * top_)),
    ]),
    [0, 0.5, 1].map((share) => draw("text", {
      x: left + share * (width - left - right), y: height - 6, class: "axis",
      "text-anchor": ["start", "middle", "end"][share * 2],
    }, `${utc(first + share * (last - first), 16)}${share === 1 ? " UTC" : ""}`)),
    marks.filter(({ at }) => at >= first && at <= last).map(({ at, words }) =>
      draw("line", { x1: x(at), x2: x(at), y1: top, y2: height - bottom, class: "mark" }, draw("title", {}, `${utc(at, 19)} UTC ${words}`))),
    series.map((one, place) => {
      const path = linePath(rows.map((row) => [row[0], row[columns[place]]]), x, y);
      return draw("path", { d: path, class: `line c-${one.colour}` });
    }),
    cursor);
  const read = (event) => {
    const box = drawing.getBoundingClientRect();
    const at = first + ((((event.clientX - box.left) / box.width) * width - left) / (width - left - right)) * (last - first);
    const row = rows.reduce((best, one) => (Math.abs(one[0] - at) < Math.abs(best[0] - at) ? one : best));
    cursor.setAttribute("visibility", "visible");
    cursor.replaceChildren(draw("line", { x1: x(row[0]), x2: x(row[0]), y1: top, y2: height - bottom }),
      ...series.map((one, place) => (row[columns[place]] === null ? null
        : draw("circle", { cx: x(row[0]), cy: y(row[columns[place]]), r: 3.5, class: `c-${one.colour}` }))).filter(Boolean));
    words.textContent = `${utc(row[0], 19)} UTC  ${series.map((one, place) =>
      `${one.name} ${row[columns[place]] === null ? "–" : write(row[columns[place]])}`).join(" · ")}`;
  };
  drawing.addEventListener("pointermove", read);
  drawing.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    words.textContent = "";
  });
  return el("div", { class: "plot" }, drawing, words);
}
