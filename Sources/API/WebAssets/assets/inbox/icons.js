// Drawings on a grid of 24, with one stroke. The names are those of the catalogue; an app adds further ones with
// `BellhopInbox.addIcon`.

const ICONS = new Map(
  Object.entries({
    ArrowUpRight: "M7 17 17 7M8 7h9v9",
    ArrowDownLeft: "M17 7 7 17M16 17H7V8",
    ScanLine: "M4 8V6a2 2 0 0 1 2-2h2M16 4h2a2 2 0 0 1 2 2v2M20 16v2a2 2 0 0 1-2 2h-2M8 20H6a2 2 0 0 1-2-2v-2M7 12h10",
    Smartphone: "M8 2.5h8A1.5 1.5 0 0 1 17.5 4v16a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 0 1 6.5 20V4A1.5 1.5 0 0 1 8 2.5M11 18.5h2",
    TrendingUp: "M3 17l6-6 4 4 8-8M15 7h6v6",
    Bell: "M6 9.5a6 6 0 0 1 12 0c0 5 2.2 6.5 2.2 6.5H3.8S6 14.5 6 9.5M10 19.5a2.2 2.2 0 0 0 4 0",
    Calendar: "M5 5h14a1.5 1.5 0 0 1 1.5 1.5v13A1.5 1.5 0 0 1 19 21H5a1.5 1.5 0 0 1-1.5-1.5v-13A1.5 1.5 0 0 1 5 5M3.5 10h17M8 3v4M16 3v4",
    CheckCircle: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8 12.3l2.7 2.7L16 9.5",
    MessageCircle: "M12 4a8 8 0 0 0-7 11.9L4 20l4.2-1A8 8 0 1 0 12 4",
    Info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8v.01",
    Check: "M3 12.5l4.5 4.5L16 8M11.5 16l1 1L21 8",
    Gear: "M4 8h8.5M17.5 8H20M4 16h2.5M11.5 16H20M15 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M9 13.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5",
    Archive: "M4 4.5h16v4H4zM5.5 8.5v9A1.5 1.5 0 0 0 7 19h10a1.5 1.5 0 0 0 1.5-1.5v-9M10 12h4",
    Clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7.5V12l3 2",
    Mute: "M6 9.5a6 6 0 0 1 9.5-4.9M18 9.5c0 5 2.2 6.5 2.2 6.5H9M3.8 16S6 14.5 6 9.5M10 19.5a2.2 2.2 0 0 0 4 0M4 4l16 16",
    Dot: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8",
    Down: "M6 9.5l6 6 6-6",
    Back: "M19 12H5M11 6l-6 6 6 6",
    Close: "M6 6l12 12M18 6 6 18",
  })
);

const SVG = "http://www.w3.org/2000/svg";

/** Returns the drawing of a name; nothing for an unknown name. */
function drawing(name) {
  const path = ICONS.get(name);
  if (!path) return null;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}
