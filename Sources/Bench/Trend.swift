import BellhopRules
import CLI
import Operations

/// The slope of a figure over the time of a soak, by least squares, and the verdict.
///
/// The uncertainty is twice the standard error of the slope. The verdict compares the growth over the measured time
/// with a share of the mean, so that a longer soak detects a slower growth.
struct Trend: Sendable {
    enum Verdict: String, Sendable {
        case flat, grows, falls
        /// There are too few samples, or they vary too much.
        case unclear
    }

    /// The mean of the samples.
    let mean: Double
    /// The growth per hour; `nil` if there are fewer than three samples.
    let perHour: Double?
    /// The uncertainty of the growth per hour.
    let uncertainty: Double
    let verdict: Verdict

    /// The least number of samples for a verdict.
    static let leastSamples = 10
    /// The least time for a verdict: a process that has just started still grows.
    static let leastHours = 1.0 / 6

    /// - Parameters:
    ///   - points: Samples with their times in hours.
    ///   - tolerance: The growth that counts as none, as a share of the mean.
    init(_ points: [(hours: Double, value: Double)], tolerance: Double) {
        let count = Double(points.count)
        let mean = points.map(\.value).reduce(0, +) / max(1, count)
        let middle = points.map(\.hours).reduce(0, +) / max(1, count)
        let spread = points.reduce(0) { $0 + ($1.hours - middle) * ($1.hours - middle) }
        self.mean = mean
        guard points.count >= 3, spread > 0 else {
            (perHour, uncertainty, verdict) = (nil, 0, .unclear)
            return
        }
        let slope = points.reduce(0) { $0 + ($1.hours - middle) * ($1.value - mean) } / spread
        let squares = points.reduce(0) { sum, point in
            let rest = point.value - mean - slope * (point.hours - middle)
            return sum + rest * rest
        }
        let uncertainty = 2 * (squares / (count - 2) / spread).squareRoot()
        let hours = (points.last?.hours ?? 0) - (points.first?.hours ?? 0)
        (perHour, self.uncertainty) = (slope, uncertainty)
        guard points.count >= Self.leastSamples, hours >= Self.leastHours else {
            verdict = .unclear
            return
        }
        let most = abs(mean) * tolerance
        let growth = (least: (slope - uncertainty) * hours, most: (slope + uncertainty) * hours)
        verdict =
            if growth.least > most { .grows } else if growth.most < -most { .falls } else {
                growth.least >= -most && growth.most <= most ? .flat : .unclear
            }
    }

    func words(_ format: (Double) -> String) -> String {
        guard let perHour else { return "unclear: too few samples" }
        let sign = perHour < 0 ? "−" : "+"
        return
            "\(verdict.rawValue): mean \(format(mean)), \(sign)\(format(abs(perHour))) ± \(format(uncertainty)) an hour"
    }

    func json(digits: Int) -> JSONValue {
        .members([
            ("mean", .decimal(mean, digits: digits)),
            ("perHour", perHour.map { .decimal($0, digits: digits) } ?? .null),
            ("uncertainty", perHour == nil ? .null : .decimal(uncertainty, digits: digits)),
            ("verdict", .string(verdict.rawValue)),
        ])
    }
}
