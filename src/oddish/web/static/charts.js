// The values under the pointer, below each chart.

const PLACES = 6;

function nearest(points, x) {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= x) low = middle;
    else high = middle;
  }
  return Math.abs(points[high][0] - x) < Math.abs(points[low][0] - x) ? points[high] : points[low];
}

function figures(value) {
  return Number(value.toPrecision(PLACES)).toLocaleString("en", { maximumSignificantDigits: PLACES });
}

function attach(drawing) {
  const [low, high, start, end] = JSON.parse(drawing.dataset.x);
  const cursor = drawing.querySelector(".chart-cursor");
  const series = [...drawing.querySelectorAll("[data-points]")].map((group) => ({
    label: group.dataset.label,
    points: JSON.parse(group.dataset.points).sort((a, b) => a[0] - b[0]),
  })).filter(({ points }) => points.length);
  const reading = document.createElement("p");
  reading.className = "chart-reading";
  reading.setAttribute("aria-hidden", "true"); // it follows the pointer; the table is for everybody else
  drawing.after(reading);

  const show = (x) => {
    const place = start + ((x - low) / (high - low)) * (end - start);
    cursor.setAttribute("transform", `translate(${place.toFixed(1)} 0)`);
    cursor.classList.add("shown");
    reading.replaceChildren(...[`${drawing.dataset.label} ${figures(x)}`].concat(
      series.map(({ label, points }) => `${label} ${figures(nearest(points, x)[1])}`),
    ).map((text) => Object.assign(document.createElement("span"), { textContent: text })));
  };
  const closest = (x) => series.map(({ points }) => nearest(points, x)[0])
    .reduce((best, found) => (Math.abs(found - x) < Math.abs(best - x) ? found : best));

  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * drawing.viewBox.baseVal.width;
    const x = low + ((place - start) / (end - start)) * (high - low);
    show(closest(Math.min(high, Math.max(low, x))));
  });
  drawing.addEventListener("pointerleave", () => {
    cursor.classList.remove("shown");
    reading.replaceChildren();
  });
}

export function attachAll(root) {
  for (const drawing of root.querySelectorAll("svg.chart-drawing[data-x]")) attach(drawing);
}

attachAll(document);
document.addEventListener("swapped", (event) => attachAll(event.target));
