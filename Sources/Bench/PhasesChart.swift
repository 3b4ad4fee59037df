import Foundation
import ServiceRuntime

/// The chart of W7 in SVG: for each phase a bar with its rate, and a line from the median to the 99th percentile of the
/// urgent pushes.
///
/// It has a separate background, and colours for light and dark pages.
struct PhasesChart: Sendable {
    let phases: [PhaseFigures]
    /// The notifications that were stored before the phase with many rows.
    let stored: Int
    let conditions: String

    /// The sizes in pixels.
    private enum Size {
        static let width = 880.0
        static let margin = 24.0
        static let top = 104.0
        static let row = 38.0
        static let bar = 20.0
        static let rates = 240.0..<470.0
        static let delays = 600.0..<752.0
        static let bottom = 60.0
    }

    private static let style = """
        <style>
        text { font-family: -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
        .page { fill: #ffffff; stroke: #d1d9e0 }
        .title { font-size: 17px; font-weight: 600 }
        .head { font-size: 13px; font-weight: 600 }
        .name { font-size: 14px }
        .small { font-size: 12px; font-weight: 400; fill: #59636e }
        .value { font-size: 13px; font-weight: 600 }
        .grid { stroke: #d1d9e0 }
        .whole { stroke: #59636e; stroke-dasharray: 4 3 }
        .calm { fill: #8c959f }
        .disturbed { fill: #0969da }
        .spread { stroke: #bc4c00; stroke-width: 3 }
        .median { fill: #bc4c00 }
        @media (prefers-color-scheme: dark) {
        text { fill: #f0f6fc }
        .page { fill: #0d1117; stroke: #3d444d }
        .small { fill: #9198a1 }
        .grid { stroke: #2f353d }
        .whole { stroke: #9198a1 }
        .calm { fill: #767e88 }
        .disturbed { fill: #4493f8 }
        .spread { stroke: #f0883e }
        .median { fill: #f0883e }
        }
        </style>
        """

    var svg: String {
        let bottom = Size.top + Size.row * Double(phases.count)
        let height = bottom + Size.bottom
        let frame = "width=\"\(Size.width.pixels)\" height=\"\(height.pixels)\""
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Size.width.pixels) \(height.pixels)\" \(frame) "
                + "role=\"img\" aria-label=\"\(description.escaped)\">",
            Self.style,
            "<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"\((Size.width - 1).pixels)\" "
                + "height=\"\((height - 1).pixels)\" rx=\"6\"/>",
            text("One worker under full load, while the servers are disturbed", "title", Size.margin, 34),
            text(conditions, "small", Size.margin, 54),
            text("Events per second, longer is better", "head", Size.rates.lowerBound, 82),
            text("Urgent push, shorter is better", "head", Size.delays.lowerBound, 82),
        ]
        lines += grid(bottom)
        for (index, phase) in phases.enumerated() { lines += row(phase, Size.top + Size.row * Double(index)) }
        let notes =
            "Left: relative to the first phase. Right: the dot is the median, the end of the line the 99th percentile."
        lines += [text(notes, "small", Size.margin, height - 14), "</svg>"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func row(_ phase: PhaseFigures, _ top: Double) -> [String] {
        let middle = top + Size.bar / 2
        let (start, end) = (Size.rates.lowerBound, x(ofShare: phase.share))
        let kind = phase.disturbance.isCalm ? "calm" : "disturbed"
        let rate = "\((phase.share * 100).text(digits: 0)) %"
        let (median, last) = (x(ofDelay: phase.urgent.p50), x(ofDelay: phase.urgent.p99))
        let delays = "\(phase.urgent.p50.text(digits: 0)) and \(phase.urgent.p99.text(digits: 0)) ms"
        return [
            text(words(phase), "name", Size.margin, middle + 5),
            "<rect class=\"\(kind)\" x=\"\(start.pixels)\" y=\"\(top.pixels)\" width=\"\((end - start).pixels)\" "
                + "height=\"\(Size.bar.pixels)\" rx=\"3\"/>",
            "<text class=\"value\" x=\"\((end + 8).pixels)\" y=\"\((middle + 5).pixels)\">\(rate)"
                + "<tspan class=\"small\" dx=\"8\">\(Self.grouped(phase.eventsPerSecond))</tspan></text>",
            "<path class=\"spread\" d=\"M\(median.pixels) \(middle.pixels)H\(last.pixels)"
                + "M\(last.pixels) \((middle - 6).pixels)v12\"/>",
            "<circle class=\"median\" cx=\"\(median.pixels)\" cy=\"\(middle.pixels)\" r=\"5\"/>",
            text(delays, "small", last + 9, middle + 4),
        ]
    }

    private func grid(_ bottom: Double) -> [String] {
        func line(_ x: Double, _ kind: String, _ words: String) -> [String] {
            let path = "x1=\"\(x.pixels)\" y1=\"\((Size.top - 8).pixels)\" x2=\"\(x.pixels)\" y2=\"\(bottom.pixels)\""
            return [
                "<line class=\"\(kind)\" \(path)/>", text(words, "small", x, bottom + 16, anchor: "middle"),
            ]
        }
        let rates = stride(from: 0.0, through: mostShare, by: 0.5).flatMap { share in
            line(x(ofShare: share), share == 1 ? "whole" : "grid", "\((share * 100).text(digits: 0)) %")
        }
        let delays = stride(from: 0.0, through: mostDelay, by: Self.niceStep(mostDelay / 3)).flatMap { delay in
            line(x(ofDelay: delay), "grid", "\(delay.text(digits: 0)) ms")
        }
        return rates + delays
    }

    // MARK: - Scales

    private var mostShare: Double { max(1, phases.map(\.share).max() ?? 1) }

    private var mostDelay: Double { max(1, phases.map(\.urgent.p99).max() ?? 1) }

    private func x(ofShare share: Double) -> Double { Size.rates.place(of: share / mostShare) }

    private func x(ofDelay delay: Double) -> Double { Size.delays.place(of: delay / mostDelay) }

    /// Returns 1, 2 or 5 times a power of ten, at least as large as the given number.
    static func niceStep(_ least: Double) -> Double {
        let power = pow(10, log10(max(1, least)).rounded(.down))
        return [1, 2, 5].map { $0 * power }.first { $0 >= least } ?? power * 10
    }

    // MARK: - Words

    private func words(_ phase: PhaseFigures) -> String {
        phase.disturbance == .rows ? "\(stored.grouped) stored rows" : phase.disturbance.words
    }

    private var description: String {
        let parts = phases.map { phase in
            "\(words(phase)) \((phase.share * 100).text(digits: 0)) %, urgent p99 \(phase.urgent.p99.text(digits: 0)) ms"
        }
        return "Relative events per second: " + parts.joined(separator: "; ")
    }

    private func text(_ words: String, _ kind: String, _ x: Double, _ y: Double, anchor: String? = nil) -> String {
        let anchor = anchor.map { " text-anchor=\"\($0)\"" } ?? ""
        return "<text class=\"\(kind)\" x=\"\(x.pixels)\" y=\"\(y.pixels)\"\(anchor)>\(words.escaped)</text>"
    }

    /// Returns a whole number with commas.
    static func grouped(_ number: Double) -> String {
        Int(number.rounded()).grouped
    }
}

extension Range<Double> {
    /// Returns the position of a share of the range.
    fileprivate func place(of share: Double) -> Double { lowerBound + (upperBound - lowerBound) * share }
}

extension Double {
    /// The number with at most one digit after the point.
    fileprivate var pixels: String { self == rounded() ? text(digits: 0) : text(digits: 1) }
}

extension String {
    fileprivate var escaped: String {
        replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: "\"", with: "&quot;")
    }
}
